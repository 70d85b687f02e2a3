%% What `h(fyris, lookup)' shows in the shell: every function has its text, its example and its specification.
-module(fyris_docs_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Where edoc is; it makes what is read here.
documented_test_() ->
    case code:which(edoc_doclet_chunks) of
        non_existing -> [];
        _ -> [fun every_function_is_shown/0, fun modules_have_a_text/0]
    end.

every_function_is_shown() ->
    {ok, {docs_v1, _, erlang, _, _, _, Docs}} = code:get_doc(fyris),
    Shown = [Function || {{function, Name, Arity} = Function, _, Signature, #{<<"en">> := _}, #{signature := [_]}} <- Docs,
                         Signature =/= [], is_atom(Name), is_integer(Arity)],
    Exported = fyris:module_info(exports) -- [{module_info, 0}, {module_info, 1}],
    ?assertEqual([], [{function, Name, Arity} || {Name, Arity} <- Exported] -- Shown).

modules_have_a_text() ->
    [?assertMatch({_, {ok, {docs_v1, _, erlang, _, #{<<"en">> := _}, _, _}}}, {Module, code:get_doc(Module)})
     || Module <- [fyris, fyris_migrate, fyris_mnesia, fyris_ms]].
