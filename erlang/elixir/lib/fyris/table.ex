defmodule Fyris.Table do
  @moduledoc """
  A table as a value: what `Fyris.new/1` gives, and what `Enum` and `Stream` take.
  """

  @enforce_keys [:id]
  defstruct [:id, :kind]

  @typedoc """
  The name or the tid under which `:fyris` knows the table, and whether it is a snapshot of one, or one within a
  transaction, for who looks at it.
  """
  @type t :: %__MODULE__{id: atom | reference, kind: nil | :snapshot | :transaction}

  @doc """
  Returns the name or the tid of a table: what the functions of `:fyris` take, which do not know `Fyris.Table`. A name
  or a tid is returned as it is. O(1).

      iex> table = Fyris.new!()
      iex> Fyris.put!(table, :joe, 1)
      iex> :fyris.lookup(Fyris.Table.id(table), :joe)
      [joe: 1]
  """
  @spec id(t | id) :: id when id: atom | reference
  def id(%__MODULE__{id: id}), do: id
  def id(id), do: id

  # Objects read at a time.
  @at_once 500

  # The slice's own size is the limit.
  @no_limit 1_000_000

  @doc false
  # All objects, as they were at one moment, in the order of `:fyris.foldl/3`.
  def all(id) do
    slices(fn -> cursor(if is_atom(id), do: :fyris.whereis(id), else: id) end, fn {id, cursor} ->
      case :fyris_nif.slice(id, cursor, []) do
        [:more | objects] -> {objects, true}
        objects -> {objects, false}
      end
    end)
  end

  # Of a tid, so that it goes on after a rename.
  defp cursor(id), do: {id, :fyris_nif.cursor(id, false)}

  @doc false
  # What a query of this name finds, as it was at one moment, so many at a time.
  def chunks(query, id, what, at_once), do: id |> lists(query, what, at_once) |> Stream.concat()

  # The same in the lists in which they are read: each when it is asked for.
  defp lists(id, query, what, at_once) do
    Stream.unfold(fn -> apply(:fyris, query, [id, what, at_once]) end, fn read ->
      case read.() do
        :"$end_of_table" -> nil
        {found, place} -> {found, fn -> apply(:fyris, query, [place]) end}
      end
    end)
  end

  @doc false
  # The keys, each once, as they were at one moment.
  def keys(id) do
    Stream.flat_map([id], fn id ->
      case {:fyris.info(id, :type), :fyris.info(id, :keypos)} do
        {:ordered_set, _} ->
          range(id, {:_, :_, [:keys]})

        {_, position} ->
          # Each list is in descending order, and the objects of a key may be in two that follow each other.
          id
          |> lists(:select, [{:_, [], [{:element, position, :"$_"}]}], @at_once)
          |> Stream.flat_map(&Enum.reverse/1)
          |> Stream.dedup()
      end
    end)
  end

  @doc false
  # The objects of a range, as they were at one moment.
  def range(id, {from, to, options}) do
    {limit, options} = Keyword.pop(Enum.map(options, &named/1), :limit, :infinity)
    options = Enum.map(options, &plain/1)

    stream =
      slices(fn -> place(id, from, to, options) end, fn place ->
        {more, _, objects} = :fyris_nif.range_slice(id, place, [], @no_limit)
        {Enum.reverse(objects), more}
      end)

    if limit == :infinity, do: stream, else: Stream.take(stream, limit)
  end

  defp place(id, from, to, options) do
    # What is wrong is told as `range/4` tells it.
    _ = :fyris.range(id, from, to, [{:limit, 1} | options])
    {reverse, keys} = {:reverse in options, :keys in options}
    :fyris_nif.range(id, bound(:from, from, options), bound(:to, to, options), reverse, keys)
  end

  defp bound(_, :_, _), do: :unbounded

  defp bound(which, key, options),
    do: {if({which, :excluded} in options, do: :excluded, else: :included), key}

  # Objects that are read in slices, from a place on that knows how far it is.
  defp slices(place, next) do
    Stream.resource(
      fn -> native(place) end,
      fn
        :done ->
          {:halt, :done}

        place ->
          {objects, more} = native(fn -> next.(place) end)
          {objects, if(more, do: place, else: :done)}
      end,
      fn _ -> :ok end
    )
  end

  # Raises what `:fyris` would: there may be no such table, or no longer, and a transaction may have to end.
  defp native(call) do
    call.()
  rescue
    error in ErlangError -> :erlang.error(elem(error.original, 1))
  end

  defp named(option) when is_atom(option), do: {option, true}
  defp named(option), do: option

  defp plain({option, true}), do: option
  defp plain(option), do: option

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
    defp size(:undefined), do: raise(ArgumentError, "the table does not exist, or the snapshot is released")
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
    def inspect(%{id: id, kind: kind}, _) do
      case :fyris.info(id) do
        :undefined -> "#Fyris.Table<gone>"
        info -> "#Fyris.Table<#{shown(kind, info)}, #{info[:type]}, #{info[:size]} objects>"
      end
    end

    defp shown(kind, info) do
      # A table that was given no name is shown by its tid.
      name = if info[:named_table] or info[:name] != :fyris, do: info[:name], else: inspect(info[:id])

      case kind do
        nil -> name
        :snapshot when is_atom(name) -> "snapshot of #{name}"
        :snapshot -> "snapshot #{name}"
        :transaction -> "#{name} in a transaction"
      end
    end
  end
end
