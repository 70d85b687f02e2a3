defmodule Fyris.Defbang do
  @moduledoc false
  # Functions in two forms: one answers a tuple, the other raises.

  alias Fyris.Error

  @doc false
  # Defines `name!` with this body, and `name`, which gives what that one raises as a tuple; both with a spec and an
  # example. The arguments and the result have their types: `put(table :: table, key :: key) :: :ok`. An example is a
  # list of lines, the last of which is what the one before returns.
  defmacro defbang({:"::", _, [{name, meta, args}, result]}, doc, example, do: body) do
    bang = :"#{name}!"
    {plain, types} = args |> Enum.map(&split/1) |> Enum.unzip()
    # What a function was quoted with says where it stands.
    [head, bang_head] = for name <- [name, bang], do: {name, meta, Enum.map(args, &untyped/1)}

    quote do
      unquote_splicing(specs(name, args, types, answers(result)))

      @doc unquote(doc) <>
             "\nAnswers #{unquote(form(result))}, or `{:error, error}` with a `Fyris.Error`.\n\n" <>
             Fyris.Defbang.session(Fyris.Defbang.plain(unquote(example), unquote(name)))
      def unquote(head) do
        Fyris.Defbang.answer(unquote(bang)(unquote_splicing(plain)))
      rescue
        error in [Error] -> {:error, error}
      end

      unquote_splicing(specs(bang, args, types, result))

      @doc unquote(doc) <>
             "\nRaises `Fyris.Error` where `#{unquote(name)}/#{unquote(length(args))}` answers one.\n\n" <>
             Fyris.Defbang.session(unquote(example))
      def unquote(bang_head) do
        unquote(body)
      rescue
        error in [ArgumentError, ErlangError] ->
          reraise Error.new(error, __STACKTRACE__), __STACKTRACE__
      end
    end
  end

  @doc false
  # What the one that does not raise answers.
  def answer(:ok), do: :ok
  def answer(result), do: {:ok, result}

  @doc false
  # The same example by the one that does not raise.
  def plain(example, name) do
    {calls, [result]} = Enum.split(example, -1)
    bang = "Fyris.#{name}!("
    wraps = result != ":ok" and String.starts_with?(List.last(calls), bang)

    Enum.map(calls, &plain_call(&1, bang, "Fyris.#{name}(")) ++
      [if(wraps, do: "{:ok, #{result}}", else: result)]
  end

  defp plain_call(line, bang, plain) do
    case String.split(line, " = " <> bang, parts: 2) do
      [name, rest] -> "{:ok, #{name}} = " <> plain <> rest
      [_] -> String.replace(line, bang, plain)
    end
  end

  @doc false
  # The text of an example, as documentation has it.
  def session(example) do
    {calls, [result]} = Enum.split(example, -1)
    Enum.map_join(calls, &"    iex> #{&1}\n") <> "    #{result}\n"
  end

  # The type of that.
  defp answers(:ok), do: quote(do: :ok | {:error, Fyris.Error.t()})
  defp answers(result), do: quote(do: {:ok, unquote(result)} | {:error, Fyris.Error.t()})

  # What the documentation says of that.
  defp form(:ok), do: "`:ok`"
  defp form(_), do: "`{:ok, result}`"

  # A spec for each arity that the default of the last argument allows.
  defp specs(name, args, types, result) do
    shorter = if match?({:\\, _, _}, List.last(args)), do: [Enum.drop(types, -1)], else: []

    for types <- [types | shorter] do
      quote(do: @spec(unquote(name)(unquote_splicing(types)) :: unquote(result)))
    end
  end

  # An argument without type and default, and its type.
  defp split({:\\, _, [arg, _]}), do: split(arg)
  defp split({:"::", _, [arg, type]}), do: {arg, type}

  # An argument without its type.
  defp untyped({:\\, meta, [arg, default]}), do: {:\\, meta, [untyped(arg), default]}
  defp untyped({:"::", _, [arg, _]}), do: arg
end
