defmodule Fyris.Error do
  @moduledoc """
  The error of a call of `Fyris`.

  `reason` is that of the Erlang error (`:badarg`, `:system_limit`), `function` and `arity` the function of
  `:fyris`, and `details` says what is wrong with which argument, counted from 1, or with `:general`.
  """

  defexception [:reason, :function, :arity, details: %{}]

  @type t :: %__MODULE__{
          reason: term,
          function: atom,
          arity: arity,
          details: %{(pos_integer | :general) => String.t()}
        }

  @doc false
  def new(%kind{} = error, [{:fyris, function, args, _} | _] = stack)
      when kind in [ArgumentError, ErlangError] do
    reason = reason(error)
    arity = if is_list(args), do: length(args), else: args
    details = if is_list(args), do: details(reason, stack), else: %{}
    %__MODULE__{reason: reason, function: function, arity: arity, details: details}
  end

  # Not an error of :fyris: one of a fun of the caller, most likely.
  def new(error, stack), do: reraise(error, stack)

  @impl true
  def message(%{reason: reason, function: function, arity: arity, details: details}) do
    what = Enum.map_join(details, "; ", fn {place, text} -> "#{place(place)}: #{text}" end)
    "#{inspect(reason)} in :fyris.#{function}/#{arity}" <> if(what == "", do: "", else: " (#{what})")
  end

  defp place(n) when is_integer(n), do: "argument #{n}"
  defp place(other), do: "#{other}"

  defp reason(%ArgumentError{}), do: :badarg
  defp reason(%ErlangError{original: original}), do: original

  defp details(reason, stack) do
    Map.new(:fyris.format_error(reason, stack), fn {place, text} -> {place, IO.chardata_to_string(text)} end)
  end
end
