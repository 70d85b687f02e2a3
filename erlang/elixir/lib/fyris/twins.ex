defmodule Fyris.Twins do
  @moduledoc false
  # Functions in two forms: one answers a tuple, the other raises.

  alias Fyris.Error

  @doc false
  # Defines `name!` with this body, and `name`, which gives what that one raises as a tuple.
  defmacro both({name, _, args}, doc, do: body) do
    bang = :"#{name}!"

    quote do
      @doc unquote(doc)
      def unquote(name)(unquote_splicing(args)) do
        Fyris.Twins.answer(unquote(bang)(unquote_splicing(Enum.map(args, &plain/1))))
      rescue
        error in [Error] -> {:error, error}
      end

      @doc "The same, but raises."
      def unquote(bang)(unquote_splicing(args)) do
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

  # An argument without its default.
  defp plain({:\\, _, [arg, _]}), do: arg
  defp plain(arg), do: arg
end
