defmodule Fyris.MatchSpec do
  @moduledoc """
  Match specifications, written as functions: `import Fyris.MatchSpec`.

      iex> import Fyris.MatchSpec
      iex> table = Fyris.new!(type: :ordered_set)
      iex> Fyris.insert!(table, [{:joe, 41}, {:ann, 37}, {:bob, 19}])
      iex> age = 30
      iex> Fyris.select!(table, fun(fn {name, years} when years > ^age -> name end))
      [:ann, :joe]

  ## What can be said

  Clauses of one argument, which is an object, with guards. The first clause that matches an object counts.

    * **Heads**: a tuple with variables, `_`, atoms, numbers, strings, tuples, lists, maps and structs, which match as
      they do in Elixir (a map with more keys, too), records, and `^value`, which an element is when it is `===` that.
      A variable, or `{...} = object`, is the whole object.
    * **Guards**: what Elixir has in guards, macros of `defguard` too: comparisons, arithmetic, bits (without an
      import), `and`, `or`, `not`, `in`, `is_...`, `elem`, `map.key` and so on. `when ... when ...` becomes two clauses.
    * **Bodies**: one expression of the same functions, tuples, lists, maps and structs.
    * **`^expression`** in guards and bodies is the value of an expression of the surroundings; a variable without `^`
      is one of the head.

  Functions of Erlang's guards are called by their names (`size`, `xor`), or as `:erlang.map_get(key, map)`. What
  cannot be said is a `CompileError` that names it.

  A guard that fails is no match. In the place of a part of a body that fails `select` has `:EXIT`.
  """

  alias Fyris.MatchSpec.Compiler

  @doc """
  Returns the match specification that a function stands for, `fn ... end` or, as with Ex2ms, `do ... end`.

      iex> import Fyris.MatchSpec
      iex> fun(fn {key, value} when value > 10 -> key end)
      [{{:"$1", :"$2"}, [{:>, :"$2", 10}], [:"$1"]}]

      iex> import Fyris.MatchSpec
      iex> limit = 3
      iex> fun do
      ...>   {:total, _} -> false
      ...>   {_, %{count: count}} = object when count > ^limit -> {count, object}
      ...> end
      [
        {{:total, :_}, [], [false]},
        {{:_, %{count: :"$1"}}, [{:>, :"$1", {:const, 3}}], [{{:"$1", :"$_"}}]}
      ]
  """
  defmacro fun(function)
  defmacro fun(do: clauses), do: Compiler.spec(clauses, __CALLER__)
  defmacro fun({:fn, _, clauses}), do: Compiler.spec(clauses, __CALLER__)
  defmacro fun(other), do: Compiler.refuse(other, __CALLER__, "fun takes fn ... end or do ... end, not")
end
