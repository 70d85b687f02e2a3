defmodule Fyris.MatchSpec.Compiler do
  @moduledoc false
  # Clauses of a function become the code of a match specification.
  #
  # `known` is what is known in a clause: `names` has the variable of the match specification for each variable of the
  # head, `values` the code behind each `^` of the head, the last first, `env` the surroundings, and `origin` what was
  # written where macros have made something else of it.

  alias Fyris.MatchSpec.Functions

  defguardp is_variable(name, context)
            when is_atom(name) and is_atom(context) and
                   name not in [:__MODULE__, :__DIR__, :__ENV__, :__CALLER__]

  @doc false
  # The code of the match specification of these clauses.
  def spec([{:->, _, _} | _] = clauses, env), do: Enum.flat_map(clauses, &clauses(&1, env))
  def spec(other, env), do: refuse(other, env, "a match specification has clauses, not")

  @doc false
  @spec refuse(Macro.t(), Macro.Env.t(), String.t()) :: no_return
  def refuse(code, env, why) do
    raise CompileError,
      file: env.file,
      line: line(code) || env.line,
      description: "#{why}: #{Macro.to_string(code)}"
  end

  defp line({_, meta, _}) when is_list(meta), do: meta[:line]
  defp line(_), do: nil

  # `when` of `when` is a clause each: a guard that fails is no match.
  defp clauses({:->, _, [[{:when, _, [head, guard]}], body]}, env),
    do: for(guard <- alternatives(guard), do: clause(head, [guard], body, env))

  defp clauses({:->, _, [[head], body]}, env), do: [clause(head, [], body, env)]

  defp clauses({_, meta, _} = other, env),
    do: refuse({:fn, meta, [other]}, env, "a clause has one argument, the object, not")

  defp alternatives({:when, _, [guard, more]}), do: [guard | alternatives(more)]
  defp alternatives(guard), do: [guard]

  defp clause(head, guards, body, env) do
    {head, known} = head(head, %{names: %{}, values: [], env: env, origin: nil})
    guards = Enum.map(guards, &expr(&1, known))
    values = values(known)

    compared =
      for {value, _, name} <- values,
          do: quote(do: unquote(__MODULE__).compared(unquote(value), unquote(name)))

    head = Macro.prewalk(head, &place(&1, values))

    spec =
      {:{}, [],
       [head, Enum.reduce(compared, guards, &quote(do: unquote(&1) ++ unquote(&2))), [body(body, known)]]}

    sets = for {value, code, _} <- values, do: quote(do: unquote(value) = unquote(code))
    if sets == [], do: spec, else: {:__block__, [], sets ++ [spec]}
  end

  # For each `^` of the head the variable that holds its value, its code, and the variable of the match specification
  # that stands for it if need be.
  defp values(known) do
    for {code, n} <- known.values |> Enum.reverse() |> Enum.with_index(1) do
      {Macro.var(:"value#{n}", __MODULE__), code, :"$#{numbered(known) + n}"}
    end
  end

  defp place({:"^place", _, [n]}, values) do
    {value, _, name} = Enum.at(values, n - 1)
    quote(do: unquote(__MODULE__).pinned(unquote(value), unquote(name)))
  end

  defp place(code, _), do: code

  ## When the code runs

  @doc false
  # What a head has for a value that an element must be: the value, unless a head would take it for something else.
  def pinned(value, name), do: if(plain?(value), do: value, else: name)

  @doc false
  # The guards for that.
  def compared(value, name), do: if(plain?(value), do: [], else: [{:"=:=", name, {:const, value}}])

  @doc false
  # The guard of `in ^list`.
  def one_of(_, []), do: false
  def one_of(code, [value]), do: {:"=:=", code, {:const, value}}
  def one_of(code, [value | more]), do: {:orelse, one_of(code, [value]), one_of(code, more)}
  def one_of(_, other), do: raise(ArgumentError, "in takes a list, not #{inspect(other)}")

  # Maps of a head match those that have more keys, and some atoms are variables.
  defp plain?(value) when is_atom(value), do: not variable?(value)
  defp plain?(value) when is_tuple(value), do: value |> Tuple.to_list() |> plain?()
  defp plain?([first | more]), do: plain?(first) and plain?(more)
  defp plain?(value), do: not is_map(value)

  # Also those that are some only in bodies.
  defp variable?(:_), do: true
  defp variable?(atom), do: Atom.to_string(atom) =~ ~r/^\$(\d+|_|\$)$/

  ## Heads

  defp head({:=, _, [one, other]} = code, known) do
    case {head(one, known), other} do
      {{:_, known}, _} -> head(other, known)
      {{head, known}, other} -> head |> both(head(other, known), code, known)
    end
  end

  defp head({name, _, context} = code, known) when is_variable(name, context) do
    if is_map_key(known.names, key(code)), do: both_ways(code, known)
    {:_, if(name == :_, do: known, else: named(code, :"$_", known))}
  end

  defp head(code, known) do
    case Macro.expand(code, context(known, :match)) do
      {_, _} = tuple -> pattern(tuple, known)
      {:{}, _, _} = tuple -> pattern(tuple, known)
      _ -> refuse(code, known.env, "a head is a tuple or a variable, not")
    end
  end

  defp both(head, {:_, known}, _, _), do: {head, known}
  defp both(_, _, code, known), do: refuse(code, known.env, "a head is one tuple, not")

  defp pattern({:_, _, context}, known) when is_atom(context), do: {:_, known}

  defp pattern({name, _, context} = code, known) when is_variable(name, context) do
    case known.names[key(code)] do
      nil ->
        name = :"$#{numbered(known) + 1}"
        {name, named(code, name, known)}

      :"$_" ->
        both_ways(code, known)

      name ->
        {name, known}
    end
  end

  defp pattern({:^, _, [code]}, known) do
    values = [code | known.values]
    {{:"^place", [], [length(values)]}, %{known | values: values}}
  end

  defp pattern(code, known) do
    case Macro.expand(code, context(known, :match)) do
      {one, other} ->
        {[one, other], known} = Enum.map_reduce([one, other], known, &pattern/2)
        {{one, other}, known}

      {:{}, _, parts} ->
        {parts, known} = Enum.map_reduce(parts, known, &pattern/2)
        {{:{}, [], parts}, known}

      [] ->
        {[], known}

      [{:|, _, [first, more]}] ->
        {[first, more], known} = Enum.map_reduce([first, more], known, &pattern/2)
        {[{:|, [], [first, more]}], known}

      [first | more] ->
        {first, known} = pattern(first, known)
        {more, known} = pattern(more, known)
        {[first | more], known}

      {:%{}, _, pairs} ->
        map(pairs, known)

      {:%, _, [module, {:%{}, _, pairs}]} ->
        {module, _} = struct(code, module, pairs, known)
        map([{:__struct__, module} | pairs], known)

      other ->
        case literal(other) do
          {:ok, atom} when is_atom(atom) -> {atom(atom, code, known), known}
          {:ok, literal} -> {literal, known}
          :error -> refuse(code, known.env, "the head of a match specification cannot say")
        end
    end
  end

  defp map(pairs, known) do
    {pairs, known} =
      Enum.map_reduce(pairs, known, fn {key, value}, known ->
        {value, known} = pattern(value, known)
        {{map_key(key, known), value}, known}
      end)

    {{:%{}, [], pairs}, known}
  end

  # A key has no variables.
  defp map_key({:^, _, [code]}, _), do: code

  defp map_key(code, known) do
    case pattern(code, %{known | names: %{}, values: []}) do
      {key, %{names: names, values: []}} when names == %{} and key != :_ -> key
      _ -> refuse(code, known.env, "a key of a map in a head is a value, not")
    end
  end

  defp atom(atom, code, known) do
    if variable?(atom), do: refuse(code, known.env, "a head takes for a variable"), else: atom
  end

  defp both_ways(code, known),
    do: refuse(code, known.env, "a variable is the object or a part of it, not both")

  defp named(code, name, known), do: %{known | names: Map.put(known.names, key(code), name)}
  defp numbered(known), do: Enum.count(known.names, fn {_, name} -> name != :"$_" end)
  defp key({name, meta, context}), do: {name, meta[:counter], context}

  ## Guards and bodies

  defp body({:__block__, _, [_, _ | _]} = code, known),
    do: refuse(code, known.env, "a body is one expression, not")

  defp body(code, known), do: expr(code, known)

  defp expr({:__block__, _, [code]}, known), do: expr(code, known)
  defp expr({:^, _, [code]}, _), do: {:const, code}
  defp expr({:in, _, [part, {:^, _, [code]}]}, known), do: one_of_code(expr(part, known), code)

  defp expr({name, _, context} = code, known) when is_variable(name, context) do
    with nil <- known.names[key(code)] do
      refuse(code, known.env, "no variable of the head (with ^ it is the value in the surroundings)")
    end
  end

  defp expr({one, other}, known), do: expr({:{}, [], [one, other]}, known)
  defp expr({:{}, _, parts}, known), do: {:{}, [], [{:{}, [], exprs(parts, known)}]}
  defp expr([{:|, _, [first, more]}], known), do: [{:|, [], [expr(first, known), expr(more, known)]}]
  defp expr([first | more], known), do: [expr(first, known) | expr(more, known)]
  defp expr({:%{}, _, [{:|, _, _}]} = code, known), do: unknown(code, known)

  defp expr({:%{}, _, pairs}, known),
    do: {:%{}, [], for({k, v} <- pairs, do: {expr(k, known), expr(v, known)})}

  defp expr({:%, _, [module, {:%{}, _, [pair | _] = pairs}]} = code, known) when elem(pair, 0) != :| do
    {module, defaults} = struct(code, module, pairs, known)
    given = for {field, value} <- pairs, do: {field, expr(value, known)}

    rest =
      for {field, value} <- Map.drop(defaults, Keyword.keys(pairs)),
          do: {field, {:const, Macro.escape(value)}}

    {:%{}, [], [{:__struct__, module} | given ++ rest]}
  end

  defp expr({{:., _, [module, name]}, meta, args} = code, known) when is_atom(name) do
    case Macro.expand(module, known.env) do
      :erlang -> call(Functions.of_erlang(name, args), code, known)
      module when module in [Kernel, Bitwise] -> call(Functions.of_elixir(name, args), code, known)
      module when is_atom(module) -> expanded(code, known)
      _ -> if meta[:no_parens], do: call({:map_get, [name, module]}, code, known), else: unknown(code, known)
    end
  end

  defp expr({name, _, args} = code, known) when is_atom(name) and is_list(args) do
    case literal(code) do
      {:ok, number} -> number
      :error -> call(Functions.of_elixir(name, args), code, known)
    end
  end

  defp expr(code, known) do
    case literal(code) do
      {:ok, atom} when is_atom(atom) -> if variable?(atom), do: {:const, atom}, else: atom
      {:ok, literal} -> literal
      :error -> expanded(code, known)
    end
  end

  defp exprs(codes, known), do: Enum.map(codes, &expr(&1, known))

  defp one_of_code(part, list), do: quote(do: unquote(__MODULE__).one_of(unquote(part), unquote(list)))

  defp call({name, args}, _, known), do: {:{}, [], [name | exprs(args, known)]}
  defp call(nil, code, known), do: expanded(code, known)

  # What a macro makes of it.
  defp expanded(code, known) do
    case expand(code, known) do
      ^code -> unknown(code, known)
      other -> expr(other, %{known | origin: known.origin || code})
    end
  end

  defp expand(code, known) do
    Macro.expand_once(code, context(known, :guard))
  rescue
    # A macro that goes into no guard.
    ArgumentError -> unknown(code, known)
  end

  defp unknown(code, known), do: refuse(known.origin || code, known.env, "a match specification cannot say")

  ## Both

  # The name of a struct, and its fields with their defaults.
  defp struct(code, module, pairs, known) do
    case Macro.expand(module, known.env) do
      module when is_atom(module) ->
        fields = Map.delete(Macro.struct!(module, known.env), :__struct__)

        if Enum.all?(pairs, fn {field, _} -> is_map_key(fields, field) end),
          do: {module, fields},
          else: refuse(code, known.env, "a field that the struct does not have")

      _ ->
        refuse(code, known.env, "no name of a struct")
    end
  end

  defp literal({:-, _, [number]}) when is_number(number), do: {:ok, -number}
  defp literal({:+, _, [number]}) when is_number(number), do: {:ok, number}
  defp literal(code) when is_atom(code) or is_number(code) or is_binary(code) or code == [], do: {:ok, code}
  defp literal(_), do: :error

  defp context(known, context), do: %{known.env | context: context}
end
