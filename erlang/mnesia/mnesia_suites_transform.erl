%% Parse transform for OTP's suites of Mnesia: a table that they keep as `ram_copies', or as `disc_copies', is kept as
%% `fyris_copies'. The schema stays where it is: Mnesia keeps it in no backend. The suites bring two backends along, one
%% of which has no tables; its place is taken by Fyris.
-module(mnesia_suites_transform).

-export([parse_transform/2]).

%% The option `{kept, Storage}' says which kind of copy is replaced. The library of the suites counts the copies in the
%% suites' own backend among those in memory.
parse_transform(Forms, Options) ->
    {kept, Storage} = lists:keyfind(kept, 1, Options),
    case {Storage, lists:member(library, Options)} of
        {ram_copies, true} -> in(Forms, library);
        _ -> in(Forms, Storage)
    end.

in({call, L, {remote, _, _, {atom, _, table_info}} = Info, [Tab, {atom, _, ext_ets}]} = Call, library) ->
    {op, L, '++', Call, {call, L, Info, [Tab, {atom, L, fyris_copies}]}};
in({tuple, L, [{atom, M, ext_dets}, {atom, N, ext_test}]}, _) -> {tuple, L, [{atom, M, fyris_copies}, {atom, N, fyris_mnesia}]};
in({tuple, _, [{atom, _, ext_ets}, {atom, _, ext_test}]} = Backend, _) -> Backend;
in({atom, L, Storage}, Storage) -> {atom, L, fyris_copies};
in({call, _, _, Arguments} = Call, Storage) -> parts(Call, unless(lists:any(fun is_schema/1, Arguments), Storage));
in({cons, _, First, _} = List, Storage) -> parts(List, unless(is_schema(First), Storage));
in(Form, Storage) -> parts(Form, Storage).

unless(true, _) -> none;
unless(false, Storage) -> Storage.

is_schema({atom, _, schema}) -> true;
is_schema(_) -> false.

parts(Form, Storage) when is_tuple(Form) -> list_to_tuple([in(Part, Storage) || Part <- tuple_to_list(Form)]);
parts([First | Rest], Storage) -> [in(First, Storage) | parts(Rest, Storage)];
parts(Form, _) -> Form.
