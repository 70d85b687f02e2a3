%% @doc Tables in files, in the format of `ets:tab2file', and generators of objects.
%%
%% A file is a `disk_log' of terms: a tuple of pairs that describes the table, the objects, and, when there is
%% extended information, an end: `['$end_of_table', [{count, N}, {md5, Sum}]]'. The sum is that of the external
%% formats of all terms before, as they are in the file: another release of OTP writes atoms and maps otherwise.
%% @hidden
-module(fyris_file).

-export([write/3, read/2, generator/1, list_generator/1, dets_generator/1]).

-define(CHUNK, 500).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc `tab2file'.
-spec write(fyris:table(), file:name(), [term()]) -> ok | {error, term()}.
write(Table, File, Options) ->
    case fyris:info(Table) of
        undefined ->
            {error, badtab};
        Info ->
            {id, Tid} = lists:keyfind(id, 1, Info),
            try
                {Extended, Sync} = write_options(Options),
                write(Tid, File, header(Info, Extended), Extended, Sync)
            catch
                throw:Reason -> {error, Reason}
            end
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

header(Info, Extended) ->
    list_to_tuple(Info ++ [{major_version, 1}, {minor_version, 0}, {extended_info, Extended}]).

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
        true -> {0, add(term_to_binary(Header), erlang:md5_init())};
        false -> {0, none}
    end.

write_objects(Log, Generator, {Count, Sum}) ->
    case more(Generator) of
        end_of_input ->
            {Count, Sum};
        {Objects, Next} ->
            checked(disk_log:log_terms(Log, Objects)),
            write_objects(Log, Next,
                          {Count + length(Objects), add_all(Objects, Sum)})
    end.

%% The table may be none of the caller's to read, or gone.
more(Generator) ->
    try Generator(read)
    catch error:badarg -> throw(badtab)
    end.

write_end(_, [], _) ->
    ok;
write_end(Log, Extended, {Count, Sum}) ->
    End = [{count, Count} || lists:member(object_count, Extended)] ++
        [{md5, erlang:md5_final(Sum)} || lists:member(md5sum, Extended)],
    checked(disk_log:log(Log, ['$end_of_table', End])).

add_all(_, none) -> none;
add_all(Terms, Sum) -> lists:foldl(fun(Term, Now) -> add(term_to_binary(Term), Now) end, Sum, Terms).

add(_, none) -> none;
add(Bytes, Sum) -> erlang:md5_update(Sum, Bytes).

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
    {Place, [Bytes | Objects], Bad} = chunk(Log, start),
    Info = described(header_of(Bytes)),
    Bad > 0 andalso Verify andalso throw(badfile),
    Table = make_table(Info),
    try
        State = state(Bytes, Info, Verify),
        finish(objects(Log, Place, Objects, Table, State), Table, State),
        {ok, Table}
    catch
        Class:Reason:Stack ->
            fyris:delete(Table),
            erlang:raise(Class, Reason, Stack)
    end.

%% The next terms, in their external format, and how many bytes were no good.
chunk(Log, Place) ->
    case disk_log:bchunk(Log, Place) of
        {error, Reason} -> throw({read_error, Reason});
        eof when Place =:= start -> throw(badfile);
        eof -> eof;
        {_, []} when Place =:= start -> throw(badfile);
        {Next, All} -> {Next, All, 0};
        {_, [], _} when Place =:= start -> throw(badfile);
        {Next, All, Bad} -> {Next, All, Bad}
    end.

header_of(Bytes) ->
    try binary_to_term(Bytes)
    catch error:badarg -> throw(badfile)
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
    Concurrency = [{Item, Value} || Item <- [read_concurrency, write_concurrency], {ok, Value} <- [maps:find(Item, Info)]],
    Options = [Type, Protection, {keypos, KeyPos}] ++ Named1 ++ Compressed ++ Concurrency,
    try fyris:new(Name, Options)
    catch error:badarg -> throw(cannot_create_table)
    end.

%% What is to be checked, and what is known so far.
state(Bytes, Info, Verify) ->
    Extended = maps:get(extended_info, Info, []),
    Promised = fun(Item) -> Verify andalso lists:member(Item, Extended) end,
    #{verify => Verify,
      size => maps:get(size, Info),
      extended => Extended,
      count => Promised(object_count),
      sum => case Promised(md5sum) of
                 true -> add(Bytes, erlang:md5_init());
                 false -> none
             end}.

objects(Log, Place, All, Table, State) ->
    objects(Log, Place, All, Table, State, {0, maps:get(sum, State), none}).

objects(Log, Place, All, Table, #{verify := Verify} = State, Sofar) ->
    Now = insert(Table, All, Verify, Sofar),
    case Now of
        {_, _, none} ->
            case chunk(Log, Place) of
                eof -> Now;
                {_, _, Bad} when Bad > 0, Verify -> throw(badfile);
                {Next, More, _} -> objects(Log, Next, More, Table, State, Now)
            end;
        _ ->
            Now
    end.

insert(Table, All, Verify, {Count, Sum, none}) ->
    {Objects, NewSum, End} = terms(All, [], Sum, Verify),
    try fyris:insert(Table, Objects)
    catch error:badarg when Verify -> throw(badfile)
    end,
    {Count + length(Objects), NewSum, End}.

%% The terms before the end, the sum with them, and what the end says. What is no term is left out: if there is a sum, it
%% will tell.
terms([Bytes | More], Terms, Sum, Verify) ->
    try binary_to_term(Bytes) of
        ['$end_of_table', End] -> {lists:reverse(Terms), Sum, End};
        Term -> terms(More, [Term | Terms], add(Bytes, Sum), Verify)
    catch
        error:badarg when Verify, Sum =:= none -> throw(badfile);
        error:badarg -> terms(More, Terms, Sum, Verify)
    end;
terms([], Terms, Sum, _) ->
    {lists:reverse(Terms), Sum, none}.

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
