defmodule Fyris.Options do
  @moduledoc false
  # Options of `Fyris`: which there are, what they may be, and what `:fyris` takes for them.

  alias Fyris.Error

  @boolean "true or false"
  # What an option of a table may be, for people; `is?/2` knows it as well.
  @table [
    name: "an atom",
    type: ":set, :ordered_set, :bag or :duplicate_bag",
    access: ":public, :protected or :private",
    keypos: "a position from 1",
    heir: "{pid, data}, a pid or :none",
    owner: ":none",
    compressed: @boolean,
    index: "a name or {:library, path}",
    secondary: "a keyword list of what secondary indexes find objects by",
    write_concurrency: "true, false or :auto",
    read_concurrency: @boolean,
    decentralized_counters: @boolean,
    bucket_locks: "a power of two from 1 to 32768 or :auto",
    reader_groups: "a number from 1 to 64",
    consistent: @boolean,
    snapshot_ttl: "a number of milliseconds or :infinity"
  ]
  @range [limit: "a positive integer", reverse: @boolean, keys: @boolean]

  @doc false
  # As `Keyword.validate!/2`, which has no words for what is no list.
  def validate!(options, known) when is_list(options), do: Keyword.validate!(options, known)
  def validate!(other, _), do: raise(ArgumentError, "options are a keyword list, not #{inspect(other)}")

  @doc false
  # The options of a table as `:fyris.new/2` takes them. `:fyris.open/2` has the name apart.
  def table(options, function) do
    known = Keyword.keys(@table)
    options = validate!(options, if(function == :open, do: known -- [:name], else: known))
    for option <- options, do: check(option, @table, function, 2)
    Enum.flat_map(options, &native/1)
  end

  @doc false
  # The options of a range, besides its ends, as argument `place` of a function of `:fyris`.
  def range(options, function, place) do
    for option <- options, do: check(option, @range, function, place)
    Enum.flat_map(options, &native_range/1)
  end

  defp check({name, value} = option, texts, function, place) do
    unless is?(option) do
      text = "#{name}: is #{texts[name]}, not #{inspect(value)}"
      raise %Error{reason: :badarg, function: function, arity: place, details: %{place => text}}
    end
  end

  defp is?({:name, name}), do: is_atom(name)
  defp is?({:type, type}), do: type in [:set, :ordered_set, :bag, :duplicate_bag]
  defp is?({:access, access}), do: access in [:public, :protected, :private]
  defp is?({:keypos, position}), do: is_integer(position) and position > 0
  defp is?({:heir, {pid, _}}), do: is_pid(pid)
  defp is?({:heir, pid}) when is_pid(pid), do: true
  defp is?({name, value}) when name in [:heir, :owner], do: value == :none
  defp is?({:index, {:library, path}}), do: is_list(path) or is_binary(path)
  defp is?({:index, index}), do: is_atom(index)
  defp is?({:secondary, indexes}), do: Keyword.keyword?(indexes)
  defp is?({:write_concurrency, value}), do: value == :auto or is_boolean(value)
  defp is?({:bucket_locks, n}), do: n == :auto or n in for(bit <- 0..15, do: 2 ** bit)
  defp is?({:reader_groups, n}), do: n in 1..64
  defp is?({:snapshot_ttl, ms}), do: ms == :infinity or (is_integer(ms) and ms > 0)
  defp is?({:limit, n}), do: is_integer(n) and n > 0
  defp is?({_, value}), do: is_boolean(value)

  defp native({:name, _}), do: [:named_table]
  defp native({name, value}) when name in [:type, :access], do: [value]
  defp native({:heir, {pid, data}}), do: [{:heir, pid, data}]
  defp native({:secondary, indexes}), do: for({name, value} <- indexes, do: {:secondary, name, value})
  defp native({:compressed, compressed}), do: if(compressed, do: [:compressed], else: [])
  defp native(option), do: [option]

  defp native_range({:limit, _} = option), do: [option]
  defp native_range({name, value}), do: if(value, do: [name], else: [])
end
