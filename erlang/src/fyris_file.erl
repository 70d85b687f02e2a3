%% @doc Tables in files, in the format of `ets:tab2file', and generators of objects.
%%
%% A file is a `disk_log' of terms: a tuple of pairs that describes the table, the objects, and, when there is
%% extended information, an end: `['$end_of_table', [{count, N}, {md5, Sum}]]'. The sum is that of the external
%% formats of all terms before, as they are in the file: another release of OTP writes atoms and maps otherwise.
%% @hidden
-module(fyris_file).

-include_lib("kernel/include/file.hrl").

-export([write/3, read/2, info/1, generator/1, list_generator/1, dets_generator/1]).

-define(CHUNK, 500).

%% The most bytes that compressed terms may take unless asked otherwise, and for each byte of the file, as in the loader
%% of crates/store (`MAX_INFLATED', `FOR_A_BYTE').
-define(MAX_INFLATED, 64 bsl 20).
-define(FOR_A_BYTE, 32).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc Implements `tab2file'.
-spec write(fyris:table(), file:name(), [term()]) -> ok | {error, term()}.
write(Table, File, Options) ->
    case fyris:info(Table) of
        undefined ->
            {error, badtab};
        Info ->
            {id, Tid} = lists:keyfind(id, 1, Info),
            try
                {Extended, Sync} = write_options(Options),
                at_one_moment(Tid, Info, fun(Source, Now) ->
                    write(Source, File, header(Now, Extended), Extended, Sync)
                end)
            catch
                throw:Reason -> {error, Reason}
            end
    end.

%% Calls a fun with a snapshot of the table, and the table's information with the snapshot's size. A table that is a
%% snapshot already is passed as it is, and one that the caller may not read, for the fun to fail with.
at_one_moment(Table, Info, Fun) ->
    try fyris:snapshot(Table) of
        Snapshot ->
            try
                Size = {size, fyris:info(Snapshot, size)},
                Fun(Snapshot, lists:keyreplace(size, 1, Info, Size))
            after
                fyris:release(Snapshot)
            end
    catch
        error:badarg -> Fun(Table, Info)
    end.

%% Reads the options. The option for extended information is given once; of the others the last counts. Errors are those
%% of ets.
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
    To = target(File),
    New = beside(To),
    try
        write_new(Table, New, To, Header, Extended, Sync),
        checked(file:rename(New, To)),
        Sync andalso sync_folder(To),
        ok
    catch
        Class:Reason:Stack ->
            _ = file:delete(New),
            erlang:raise(Class, named(Reason, New, File), Stack)
    end.

write_new(Table, New, To, Header, Extended, Sync) ->
    Log = make_ref(),
    case disk_log:open([{name, Log}, {file, New}]) of
        {ok, Log} ->
            try
                pass_on(To, New),
                checked(disk_log:log(Log, Header)),
                State = write_objects(Log, generator(Table), begin_sum(Header, Extended)),
                write_end(Log, Extended, State),
                Sync andalso checked(disk_log:sync(Log))
            catch
                Class:Reason:Stack ->
                    _ = disk_log:close(Log),
                    erlang:raise(Class, Reason, Stack)
            end,
            checked(disk_log:close(Log));
        {error, Reason} ->
            throw(Reason)
    end.

%% Returns the file that a name leads to through links. What cannot be replaced is refused as ets refuses it.
target(File) ->
    case file:read_file_info(File) of
        {ok, #file_info{type = regular}} -> linked(File);
        {error, Missing} when Missing =:= enoent; Missing =:= enotdir -> linked(File);
        _ -> throw(eaccess)
    end.

linked(File) ->
    case file:read_link_all(File) of
        {ok, To} -> linked(filename:absname(To, filename:dirname(File)));
        {error, _} -> File
    end.

%% A name for the dump until it is whole: whoever is killed meanwhile leaves the old file as it was. Nobody has used the
%% name before, not even a node with the same process number in another container.
beside(File) ->
    Name = lists:concat([".fyris-", os:getpid(), "-", os:system_time(), "-", erlang:unique_integer([positive]), ".tmp"]),
    filename:join(filename:dirname(File), Name).

%% The new file has the permissions of the one that it replaces and, where the system allows it, its owner.
pass_on(To, New) ->
    case file:read_file_info(To) of
        {ok, #file_info{mode = Mode, uid = User, gid = Group}} ->
            _ = file:change_owner(New, User, Group),
            checked(file:change_mode(New, Mode band 8#7777));
        {error, enoent} ->
            ok
    end.

%% The new name is on disc, too.
sync_folder(File) ->
    case file:open(filename:dirname(File), [read, raw, directory]) of
        {ok, Folder} ->
            Synced = file:sync(Folder),
            _ = file:close(Folder),
            checked(Synced);
        {error, Reason} ->
            throw(Reason)
    end.

%% Errors name the file that was asked for.
named({file_error, New, Why}, New, File) -> {file_error, File, Why};
named(Reason, _, _) -> Reason.

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

%% Reads more objects. The caller may have no right to read the table, or the table may be gone.
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

%% @doc Implements `file2tab'.
-spec read(file:name(), [term()]) -> {ok, fyris:table()} | {error, term()}.
read(File, Options) ->
    reading(fun() ->
                #{verify := Verify, max_inflated := Most} = read_options(Options),
                with_log(File, fun(Log) -> load(Log, File, Verify, room(File, Most)) end)
            end).

%% @doc Implements `tabfile_info'.
-spec info(file:name()) -> {ok, [{atom(), term()}]} | {error, term()}.
info(File) when is_list(File); is_atom(File) ->
    reading(fun() -> with_log(File, fun(Log) -> {ok, info_of(Log, room(File, ?MAX_INFLATED))} end) end).

info_of(Log, Room) ->
    {_, [Bytes | _], _} = chunk(Log, start),
    {Header, _} = header_of(Bytes, Room),
    Info = described(Header),
    [{Item, maps:get(Item, Info)} || Item <- [name, type, protection, named_table, keypos, size]]
        ++ [{extended_info, maps:get(extended_info, Info, [])},
            {version, {maps:get(major_version, Info, 0), maps:get(minor_version, Info, 0)}}].

reading(Fun) ->
    try Fun()
    catch
        throw:Reason -> {error, Reason}
    end.

read_options(Options) -> options(fun read_option/2, #{verify => false, max_inflated => ?MAX_INFLATED}, Options).

read_option({verify, Verify}, Read) when is_boolean(Verify) -> Read#{verify := Verify};
read_option({max_inflated, Bytes}, Read) when is_integer(Bytes), Bytes >= 0 -> Read#{max_inflated := Bytes};
read_option(Option, _) -> throw({unknown_option, Option}).

with_log(File, Fun) ->
    Log = open(File),
    try Fun(Log)
    after
        _ = disk_log:close(Log)
    end.

open(File) ->
    Log = make_ref(),
    case disk_log:open([{name, Log}, {file, File}, {mode, read_only}]) of
        {ok, Log} -> Log;
        {repaired, Log, _, _} -> Log;
        {error, Reason} -> throw({read_error, Reason})
    end.

load(Log, File, Verify, Room) ->
    {Place, [Bytes | Objects], Bad} = chunk(Log, start),
    {Header, Left} = header_of(Bytes, Room),
    Info = described(Header),
    Bad > 0 andalso Verify andalso throw(badfile),
    Table = make_table(Info),
    try
        State = state(Bytes, Info, Verify),
        Sofar = #{count => 0, sum => maps:get(sum, State), last => none, room => Left, whole => Bad =:= 0},
        finish(objects(Log, Place, Objects, Table, Verify, Sofar), File, State),
        {ok, Table}
    catch
        Class:Reason:Stack ->
            fyris:delete(Table),
            erlang:raise(Class, Reason, Stack)
    end.

%% Returns the next terms, in their external format, and the number of bytes that were damaged.
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

%% Returns the bytes of memory that the compressed terms of a file may take, all together: the option, the whole, and
%% the rest that is left.
room(File, Most) ->
    Whole = min(Most + ?FOR_A_BYTE * filelib:file_size(File), 1 bsl 62),
    {Most, Whole, Whole}.

%% Returns a term, and the room that is left. A compressed term is counted before it is built: its length does not tell
%% how much memory it takes. No term is compressed within another one.
term(<<131, 80, _/binary>> = Bytes, {Most, Whole, Left}) ->
    case fyris_nif:inflated(Bytes, Left) of
        too_large -> throw({compressed_terms_too_large, [{max_inflated, Most}, {bound, Whole}]});
        Taken -> {binary_to_term(Bytes), {Most, Whole, Left - Taken}}
    end;
term(Bytes, Room) ->
    {binary_to_term(Bytes), Room}.

header_of(Bytes, Room) ->
    try term(Bytes, Room)
    catch error:_ -> throw(badfile)
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
    IsCompressed = maps:get(compressed, Info, false),
    is_boolean(Named) andalso is_boolean(IsCompressed) orelse throw(badfile),
    Named1 = [named_table || Named],
    Compressed = [compressed || IsCompressed],
    Concurrency = [{Item, Value} || Item <- [read_concurrency, write_concurrency], {ok, Value} <- [maps:find(Item, Info)]],
    Options = [Type, Protection, {keypos, KeyPos}] ++ Named1 ++ Compressed ++ Concurrency,
    try fyris:new(Name, Options)
    catch error:badarg -> throw(cannot_create_table)
    end.

%% Returns the checks to make, and their state so far.
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

%% Returns what was read: the number of objects, the sum, what the end says, and whether nothing was left out.
objects(Log, Place, All, Table, Verify, Sofar) ->
    case insert(Table, All, Verify, Sofar) of
        #{last := none, whole := Whole} = Now ->
            case chunk(Log, Place) of
                eof -> Now;
                {_, _, Bad} when Bad > 0, Verify -> throw(badfile);
                {Next, More, Bad} -> objects(Log, Next, More, Table, Verify, Now#{whole := Whole andalso Bad =:= 0})
            end;
        Now ->
            Now
    end.

insert(Table, All, Verify, #{count := Count} = Sofar) ->
    {Objects, Now} = terms(All, [], Verify, Sofar),
    try fyris:insert(Table, Objects)
    catch error:badarg when Verify -> throw(badfile)
    end,
    Now#{count := Count + length(Objects)}.

%% Returns the terms before the end mark. Bytes that are no term are left out: if there is a sum, it shows that.
terms([Bytes | More], Terms, Verify, #{sum := Sum, room := Room} = Sofar) ->
    try term(Bytes, Room) of
        {['$end_of_table', End], Left} when length(End) >= 0 -> {lists:reverse(Terms), Sofar#{last := End, room := Left}};
        {Term, Left} -> terms(More, [Term | Terms], Verify, Sofar#{sum := add(Bytes, Sum), room := Left})
    catch
        error:_ ->
            fyris_nif:has_native_record(Bytes) andalso throw(native_record),
            Verify andalso Sum =:= none andalso throw(badfile),
            terms(More, Terms, Verify, Sofar#{whole := false})
    end;
terms([], Terms, _, Sofar) ->
    {lists:reverse(Terms), Sofar}.

%% Compares with what the file promises. The order is that of ets: the sum first.
finish(Read, File, #{verify := false} = State) ->
    left_out(Read, State) andalso
        logger:warning(#{what => "fyris:file2tab left out what could not be read: {verify, true} refuses such a file",
                         file => File, objects_read => maps:get(count, Read), objects_promised => promised(Read, State)});
finish(#{last := none}, _, #{extended := [_ | _]}) ->
    throw(badfile);
finish(#{count := Count, sum := Sum, last := End} = Read, _, #{count := Counted, sum := Summed} = State) ->
    Summed =/= none
        andalso proplists:get_value(md5, End) =/= erlang:md5_final(Sum)
        andalso throw(checksum_error),
    (Counted orelse Summed =:= none)
        andalso promised(Read, State) =/= Count
        andalso throw(invalid_object_count).

left_out(#{whole := Whole, count := Count, last := End} = Read, #{extended := Extended} = State) ->
    not Whole orelse Count < promised(Read, State) orelse (End =:= none andalso Extended =/= []).

%% Returns how many objects a file says that it has. The description was written before the objects, the end after them.
promised(#{last := End}, #{size := Size}) when is_list(End) -> proplists:get_value(count, End, Size);
promised(_, #{size := Size}) -> Size.

%% ---------------------------------------------------------------------------
%% Generators, as `init_table' wants them

%% @doc Returns a generator of the objects of a table.
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

%% @doc Returns a generator of the objects of a list.
-spec list_generator([tuple()]) -> fun((read | close) -> term()).
list_generator(Objects) ->
    fun(read) -> {Objects, fun(_) -> end_of_input end};
       (close) -> ok
    end.

%% @doc Returns a generator of the objects of a dets table.
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
