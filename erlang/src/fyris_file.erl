%% @doc Tables in files, in the format of `ets:tab2file', and generators of objects.
%%
%% A file is a `disk_log' of terms: a tuple of pairs that describes the table, the objects, and, when there is
%% extended information, an end: `['$end_of_table', [{count, N}, {md5, Sum}]]'. The sum is that of the external
%% formats of all terms before.
%% @hidden
-module(fyris_file).

-export([write/3, read/2, generator/1, list_generator/1, dets_generator/1]).

-define(CHUNK, 500).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc `tab2file'.
-spec write(fyris:table(), file:name(), [term()]) -> ok | {error, term()}.
write(Table, File, Options) ->
    try
        {Extended, Sync} = write_options(Options),
        Header = header(Table, Extended),
        write(Table, File, Header, Extended, Sync)
    catch
        throw:Reason -> {error, Reason};
        error:badarg ->
            %% It went away meanwhile, or is none of ours to read.
            undefined =/= fyris:info(Table)
                andalso erlang:error(badarg, [Table, File, Options]),
            {error, badtab}
    end.

%% What is extended information is said once; of the others the last counts. Complaints are those of ets.
write_options(Options) ->
    {Sync, Extended} = options(fun write_option/2, {false, none}, Options),
    {[Item || Extended =/= none, Item <- [object_count, md5sum], lists:member(Item, Extended)], Sync}.

write_option({sync, Sync}, {_, Extended}) when is_boolean(Sync) ->
    {Sync, Extended};
write_option({extended_info, Items}, {Sync, none}) ->
    {Sync, options(fun extended_item/2, [], Items)};
write_option(Option, _) ->
    throw({unknown_option, Option}).

extended_item(Item, Items) when Item =:= object_count; Item =:= md5sum -> [Item | Items];
extended_item(Item, _) -> throw({unknown_option, [{extended_info, [Item]}]}).

options(Add, Sofar, [Option | More]) -> options(Add, Add(Option, Sofar), More);
options(_, Sofar, []) -> Sofar;
options(_, _, Rest) -> throw({malformed_option, Rest}).

header(Table, Extended) ->
    case fyris:info(Table) of
        undefined ->
            throw(badtab);
        Info ->
            list_to_tuple(Info ++ [{major_version, 1}, {minor_version, 0},
                                   {extended_info, Extended}])
    end.

write(Table, File, Header, Extended, Sync) ->
    _ = file:delete(File),
    Log = make_ref(),
    case disk_log:open([{name, Log}, {file, File}]) of
        {ok, Log} ->
            try
                checked(disk_log:log(Log, Header)),
                State = write_objects(Log, generator(Table),
                                      begin_sum(Header, Extended)),
                write_end(Log, Extended, State),
                Sync andalso checked(disk_log:sync(Log)),
                checked(disk_log:close(Log))
            catch
                Class:Reason:Stack ->
                    _ = disk_log:close(Log),
                    _ = file:delete(File),
                    erlang:raise(Class, Reason, Stack)
            end;
        {error, Reason} ->
            throw(Reason)
    end.

checked(ok) -> ok;
checked({error, Reason}) -> throw(Reason).

begin_sum(Header, Extended) ->
    case lists:member(md5sum, Extended) of
        true -> {0, add(Header, erlang:md5_init())};
        false -> {0, none}
    end.

write_objects(Log, Generator, {Count, Sum}) ->
    case Generator(read) of
        end_of_input ->
            {Count, Sum};
        {Objects, Next} ->
            checked(disk_log:log_terms(Log, Objects)),
            write_objects(Log, Next,
                          {Count + length(Objects), add_all(Objects, Sum)})
    end.

write_end(_, [], _) ->
    ok;
write_end(Log, Extended, {Count, Sum}) ->
    End = [{count, Count} || lists:member(object_count, Extended)] ++
        [{md5, erlang:md5_final(Sum)} || lists:member(md5sum, Extended)],
    checked(disk_log:log(Log, ['$end_of_table', End])).

add_all(_, none) -> none;
add_all(Terms, Sum) -> lists:foldl(fun add/2, Sum, Terms).

add(Term, Sum) ->
    erlang:md5_update(Sum, term_to_binary(Term)).

%% ---------------------------------------------------------------------------
%% Reading

%% @doc `file2tab'.
-spec read(file:name(), [term()]) -> {ok, fyris:table()} | {error, term()}.
read(File, Options) ->
    try
        Verify = read_options(Options),
        Log = open(File),
        try load(Log, Verify)
        after
            _ = disk_log:close(Log)
        end
    catch
        throw:Reason -> {error, Reason}
    end.

read_options(Options) -> options(fun read_option/2, false, Options).

read_option({verify, Verify}, _) when is_boolean(Verify) -> Verify;
read_option(Option, _) -> throw({unknown_option, Option}).

open(File) ->
    Log = make_ref(),
    case disk_log:open([{name, Log}, {file, File}, {mode, read_only}]) of
        {ok, Log} -> Log;
        {repaired, Log, _, _} -> Log;
        {error, Reason} -> throw({read_error, Reason})
    end.

load(Log, Verify) ->
    {Place, First, Bad} = chunk(Log, start),
    [Header | Objects] = First,
    Info = described(Header),
    Bad > 0 andalso Verify andalso throw(badfile),
    Table = make_table(Info),
    try
        State = state(Header, Info, Verify),
        finish(objects(Log, Place, Objects, Table, State), Table, State),
        {ok, Table}
    catch
        Class:Reason:Stack ->
            fyris:delete(Table),
            erlang:raise(Class, Reason, Stack)
    end.

%% The next terms, and how many bytes were no good.
chunk(Log, Place) ->
    case disk_log:chunk(Log, Place) of
        {error, Reason} -> throw({read_error, Reason});
        eof when Place =:= start -> throw(badfile);
        eof -> eof;
        {_, []} when Place =:= start -> throw(badfile);
        {Next, Terms} -> {Next, Terms, 0};
        {_, [], _} when Place =:= start -> throw(badfile);
        {Next, Terms, Bad} -> {Next, Terms, Bad}
    end.

described(Header) when is_tuple(Header) ->
    Pairs = tuple_to_list(Header),
    Wanted = [name, type, protection, named_table, keypos, size],
    [length([x || {Item, _} <- Pairs, Item =:= Name]) =:= 1
         orelse throw(badfile) || Name <- Wanted],
    maps:from_list([Pair || {_, _} = Pair <- Pairs]);
described(_) ->
    throw(badfile).

make_table(#{name := Name, type := Type, protection := Protection,
             named_table := Named, keypos := KeyPos} = Info) ->
    Named1 = [named_table || Named =:= true],
    Compressed = [compressed || maps:get(compressed, Info, false) =:= true],
    Options = [Type, Protection, {keypos, KeyPos}] ++ Named1 ++ Compressed,
    try fyris:new(Name, Options)
    catch error:badarg -> throw(cannot_create_table)
    end.

%% What is to be checked, and what is known so far.
state(Header, Info, Verify) ->
    Extended = maps:get(extended_info, Info, []),
    Promised = fun(Item) -> Verify andalso lists:member(Item, Extended) end,
    #{verify => Verify,
      size => maps:get(size, Info),
      extended => Extended,
      count => Promised(object_count),
      sum => case Promised(md5sum) of
                 true -> add(Header, erlang:md5_init());
                 false -> none
             end}.

objects(Log, Place, Terms, Table, State) ->
    objects(Log, Place, Terms, Table, State, {0, maps:get(sum, State), none}).

objects(Log, Place, Terms, Table, #{verify := Verify} = State, Sofar) ->
    {Objects, End} = split(Terms, []),
    Now = insert(Table, Objects, Verify, Sofar),
    case End of
        none ->
            case chunk(Log, Place) of
                eof -> Now;
                {_, _, Bad} when Bad > 0, Verify -> throw(badfile);
                {Next, More, _} -> objects(Log, Next, More, Table, State, Now)
            end;
        _ ->
            setelement(3, Now, End)
    end.

split([['$end_of_table', End] | _], Objects) -> {lists:reverse(Objects), End};
split([Object | More], Objects) -> split(More, [Object | Objects]);
split([], Objects) -> {lists:reverse(Objects), none}.

insert(Table, Objects, Verify, {Count, Sum, End}) ->
    try fyris:insert(Table, Objects)
    catch error:badarg when Verify -> throw(badfile)
    end,
    {Count + length(Objects), add_all(Objects, Sum), End}.

finish(_, _, #{verify := false}) ->
    ok;
finish({_, _, none}, _, #{extended := [_ | _]}) ->
    throw(badfile);
finish({Count, Sum, End}, _, #{extended := Extended, size := Size,
                               count := Counted, sum := Summed}) ->
    Extended =:= [] andalso Count =/= Size
        andalso throw(invalid_object_count),
    Counted andalso proplists:get_value(count, End) =/= Count
        andalso throw(invalid_object_count),
    Summed =/= none
        andalso proplists:get_value(md5, End) =/= erlang:md5_final(Sum)
        andalso throw(checksum_error),
    ok.

%% ---------------------------------------------------------------------------
%% Generators, as `init_table' wants them

%% @doc The objects of a table.
-spec generator(fyris:table()) -> fun((read | close) -> term()).
generator(Table) ->
    fun(read) -> generated(fyris:select(Table, [{'_', [], ['$_']}], ?CHUNK));
       (close) -> ok
    end.

generated('$end_of_table') ->
    end_of_input;
generated({Objects, Continuation}) ->
    {Objects, fun(read) -> generated(fyris:select(Continuation));
                 (close) -> ok
              end}.

%% @doc The objects of a list.
-spec list_generator([tuple()]) -> fun((read | close) -> term()).
list_generator(Objects) ->
    fun(read) -> {Objects, fun(_) -> end_of_input end};
       (close) -> ok
    end.

%% @doc The objects of a dets table.
-spec dets_generator(term()) -> fun((read | close) -> term()).
dets_generator(Dets) ->
    fun(read) -> from_dets(dets:select(Dets, [{'_', [], ['$_']}], ?CHUNK));
       (close) -> ok
    end.

from_dets('$end_of_table') ->
    end_of_input;
from_dets({error, _} = Error) ->
    exit(Error);
from_dets({Objects, Continuation}) ->
    {Objects, fun(read) -> from_dets(dets:select(Continuation));
                 (close) -> ok
              end}.
