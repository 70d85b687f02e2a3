defmodule Fyris.Table do
  @moduledoc """
  A table as a value: what `Fyris.new/1` gives, and what `Enum` and `Stream` take.
  """

  @enforce_keys [:id]
  defstruct [:id]

  @typedoc "The name or the tid under which `:fyris` knows the table."
  @type t :: %__MODULE__{id: atom | reference}

  # Objects read at a time.
  @at_once 500

  @doc false
  # All objects. The table is fixed meanwhile, so that the way through a hash table stays good.
  def all(id) do
    Stream.resource(
      fn ->
        :fyris.safe_fixtable(id, true)
        :fyris.select(id, [{:_, [], [:"$_"]}], @at_once)
      end,
      fn
        :"$end_of_table" -> {:halt, :done}
        {objects, place} -> {objects, :fyris.select(place)}
      end,
      # The table may be gone by now.
      fn _ -> try do: :fyris.safe_fixtable(id, false), rescue: (ArgumentError -> false) end
    )
  end

  @doc false
  # The objects of a range: after each piece it goes on behind the last key.
  def range(id, {from, to, options}) do
    {limit, options} = Keyword.pop(Enum.map(options, &named/1), :limit, :infinity)
    position = :fyris.info(id, :keypos) - 1
    piece = fn from, to, options -> :fyris.range(id, from, to, options ++ [limit: @at_once]) end

    stream =
      Stream.unfold({from, to, native(options)}, fn
        :done -> nil
        {from, to, options} -> next(piece.(from, to, options), {from, to, options}, position)
      end)
      |> Stream.flat_map(& &1)

    if limit == :infinity, do: stream, else: Stream.take(stream, limit)
  end

  defp next(objects, _, _) when length(objects) < @at_once, do: {objects, :done}

  defp next(objects, {from, to, options}, position) do
    last = List.last(objects)
    key = if :keys in options, do: last, else: elem(last, position)

    if :reverse in options do
      {objects, {from, key, Enum.uniq([{:to, :excluded} | options])}}
    else
      {objects, {key, to, Enum.uniq([{:from, :excluded} | options])}}
    end
  end

  defp named(option) when is_atom(option), do: {option, true}
  defp named(option), do: option

  defp native(options) do
    Enum.map(options, fn
      {option, true} -> option
      option -> option
    end)
  end

  defimpl Enumerable do
    def count(%{id: id}), do: {:ok, size(:fyris.info(id, :size))}

    def member?(%{id: id}, object) when is_tuple(object) do
      position = :fyris.info(id, :keypos)

      if tuple_size(object) >= position,
        do: {:ok, object in :fyris.lookup(id, elem(object, position - 1))},
        else: {:ok, false}
    end

    def member?(_, _), do: {:ok, false}

    def slice(_), do: {:error, __MODULE__}

    def reduce(%{id: id}, acc, fun), do: Enumerable.reduce(Fyris.Table.all(id), acc, fun)

    defp size(size) when is_integer(size), do: size
    defp size(:undefined), do: raise(ArgumentError, "the table does not exist")
  end

  defimpl Collectable do
    def into(%{id: id} = table) do
      collect = fn
        _, {:cont, object} -> :fyris.insert(id, object)
        _, :done -> table
        _, :halt -> :ok
      end

      {table, collect}
    end
  end

  defimpl Inspect do
    def inspect(%{id: id}, _) do
      case :fyris.info(id) do
        :undefined -> "#Fyris.Table<gone>"
        info -> "#Fyris.Table<#{info[:name]}, #{info[:type]}, #{info[:size]} objects>"
      end
    end
  end
end
