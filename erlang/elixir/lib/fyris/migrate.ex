defmodule Fyris.Migrate do
  @moduledoc """
  Moves sources of Elixir from `:ets` to `:fyris`: the functions behind `mix fyris.migrate`.

  Reads the syntax tree, so comments and strings are left alone, and changes nothing but the atoms at the places that it
  names. What becomes of a use, and which tables of OTP stay with `:ets`, is as in `:fyris_migrate`.
  """

  @typedoc """
  A use of `:ets`: where, which one (a function with its arity, `:type`, `:module` or `:reference`), what it becomes (or
  `:keep`), and perhaps a note.
  """
  @type finding :: %{
          required(:line) => pos_integer,
          required(:column) => pos_integer,
          required(:call) => :fyris_migrate_rules.use(),
          required(:becomes) => charlist | :keep,
          optional(:note) => charlist
        }

  @appliers [:apply, :spawn, :spawn_link, :spawn_monitor, :tc, :function_exported?]

  @doc "Returns every use of `:ets` in a source, in order; or why it cannot be read."
  @spec scan(String.t()) :: {:ok, [finding]} | {:error, String.t()}
  def scan(source) do
    encoder = fn literal, meta -> {:ok, {:__block__, meta, [literal]}} end

    case Code.string_to_quoted(source, columns: true, literal_encoder: encoder, emit_warnings: false) do
      {:ok, tree} ->
        {:ok, tree |> uses(known(tree)) |> Enum.map(&finding/1) |> Enum.sort_by(&{&1.line, &1.column})}

      {:error, {meta, text, token}} ->
        {:error, "line #{meta[:line]}: #{message(text, token)}"}
    end
  end

  @doc "Returns a source with all uses rewritten that have a counterpart, and their number."
  @spec rewrite(String.t()) :: {:ok, String.t(), non_neg_integer} | {:error, String.t()}
  def rewrite(source) do
    with {:ok, findings} <- scan(source) do
      places = for finding <- findings, finding.becomes != :keep, do: {finding.line, finding.column}
      lines = source |> String.split("\n") |> Enum.with_index(1)
      edits = Enum.group_by(places, &elem(&1, 0), &elem(&1, 1))
      new = Enum.map_join(lines, "\n", fn {line, n} -> edited(line, Map.get(edits, n, [])) end)
      {:ok, new, length(places)}
    end
  end

  # From the last place of a line to the first, so that columns stay right.
  defp edited(line, columns) do
    for column <- Enum.sort(columns, :desc), reduce: line do
      line ->
        {before, [?: | rest]} = line |> String.to_charlist() |> Enum.split(column - 1)
        List.to_string(before ++ ~c":fyris" ++ Enum.drop(rest, quoted(rest)))
    end
  end

  defp quoted([?" | _]), do: 5
  defp quoted(_), do: 3

  defp message({left, right}, token), do: "#{left}#{token}#{right}"
  defp message(text, token), do: "#{text}#{token}"

  ## What a file says elsewhere

  # The tables that it makes, and the names of variables and attributes that calls are made with.
  defp known(tree) do
    {_, known} =
      Macro.prewalk(tree, %{own: [], held: []}, fn
        {{:., _, [{:__block__, _, [:ets]}, :new]}, _, [{:__block__, _, [name]} | _]} = node, known ->
          {node, %{known | own: [name | known.own]}}

        {:., _, [{:@, _, [{name, _, _}]}, _]} = node, known when is_atom(name) ->
          {node, %{known | held: [{:@, name} | known.held]}}

        {:., _, [{name, _, context}, _]} = node, known when is_atom(name) and is_atom(context) ->
          {node, %{known | held: [name | known.held]}}

        node, known ->
          {node, known}
      end)

    known
  end

  ## Uses: place, use, and the table of OTP that is meant, or `:none`

  defp uses({:|>, _, [table, {{:., _, [{:__block__, meta, [:ets]}, f]}, _, args}]}, known) do
    [call(meta, f, [table | args], known) | uses([table | args], known)]
  end

  defp uses({:/, _, [{{:., _, [{:__block__, meta, [:ets]}, f]}, _, []}, {:__block__, _, [arity]}]}, _) do
    [{meta, {f, arity}, :none}]
  end

  defp uses({{:., _, [{:__block__, meta, [:ets]}, f]}, _, args}, known) do
    [call(meta, f, args, known) | uses(args, known)]
  end

  defp uses({:alias, _, [{:__block__, meta, [:ets]} | _]}, _), do: [{meta, :module, :none}]

  defp uses({:@, _, [{name, _, [{:__block__, meta, [:ets]}]}]}, known), do: [held(meta, {:@, name}, known)]

  defp uses({:=, _, [{name, _, context}, {:__block__, meta, [:ets]}]}, known) when is_atom(context) do
    [held(meta, name, known)]
  end

  defp uses({sigil, meta, [{:<<>>, _, parts}, modifiers]}, _) when sigil in [:sigil_w, :sigil_W] do
    words = for part <- parts, is_binary(part), word <- String.split(part), do: word
    if ?a in modifiers and "ets" in words, do: [{meta, :reference, :none}], else: []
  end

  # A literal, or a block of one expression.
  defp uses({:__block__, meta, [:ets]}, _) do
    if meta[:format] == :keyword, do: [], else: [{meta, :reference, :none}]
  end

  defp uses({:__block__, _, [one]}, known), do: uses(one, known)

  defp uses({caller, _, args}, known) when is_list(args) do
    handed(caller) ++ uses(caller, known) ++ applied(name(caller), args, known)
  end

  defp uses({left, right}, known), do: uses(left, known) ++ uses(right, known)
  defp uses(list, known) when is_list(list), do: applied(nil, list, known)
  defp uses(_, _), do: []

  # Other modules of OTP that are handed a table.
  defp handed({:., _, [{:__block__, meta, [module]}, f]}) when is_atom(module) and is_atom(f) do
    if :fyris_migrate_rules.takes_table(module, f), do: [{meta, {module, f, :unknown}, :none}], else: []
  end

  defp handed(_), do: []

  defp name({:., _, [_, name]}), do: name
  defp name(name), do: name

  # Arguments, or elements: function and arguments may follow the module.
  defp applied(caller, [{:__block__, meta, [:ets]}, f, args | rest], known) do
    [mfa(meta, caller, f, args, known) | uses(args, known)] ++ uses(rest, known)
  end

  defp applied(caller, [first | rest], known), do: uses(first, known) ++ applied(caller, rest, known)
  defp applied(_, _, _), do: []

  defp mfa(meta, _, {:__block__, _, [f]}, args, known) when is_atom(f) do
    case {:fyris_migrate_rules.exists(f, :unknown), args} do
      {false, _} -> {meta, :reference, :none}
      {true, {:__block__, _, [list]}} when is_list(list) -> call(meta, f, list, known)
      {true, list} when is_list(list) -> call(meta, f, list, known)
      {true, _} -> {meta, {f, :unknown}, :none}
    end
  end

  defp mfa(meta, caller, _, _, _) when caller in @appliers, do: {meta, {:_, :unknown}, :none}
  defp mfa(meta, _, _, _, _), do: {meta, :reference, :none}

  defp held(meta, name, known), do: {meta, if(name in known.held, do: :module, else: :reference), :none}

  defp call(meta, f, [], _) do
    if :fyris_migrate_rules.is_type(f), do: {meta, :type, :none}, else: {meta, {f, 0}, :none}
  end

  defp call(meta, f, args, known) do
    table = Enum.at(args, :fyris_migrate_rules.table_argument(f) - 1)
    {meta, {f, length(args)}, of_otp(f, table, known)}
  end

  defp of_otp(f, {:__block__, _, [name]}, known) when f != :new and is_atom(name) do
    if name not in known.own and :fyris_migrate_rules.is_of_otp(name), do: name, else: :none
  end

  defp of_otp(_, _, _), do: :none

  defp finding({meta, use, table}) do
    %{line: meta[:line], column: meta[:column], call: use}
    |> Map.merge(:fyris_migrate_rules.change(use, table))
    |> of_elixir()
  end

  # What is to be done is something else than in Erlang.
  defp of_elixir(%{call: {:fun2ms, _}} = finding),
    do: %{finding | note: ~c"only in a shell: in a module Fyris.MatchSpec.fun/1 writes match specifications"}

  defp of_elixir(finding), do: finding
end
