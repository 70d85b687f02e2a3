defmodule Fyris.Verbs.Order do
  @moduledoc false
  # The functions of `Fyris` for tables in order.

  alias Fyris.{Options, Table}

  defmacro __using__(_) do
    quote location: :keep do
      defbang range(table :: table, options :: [range_end | range_form] \\ []) :: [object] | [key],
              """
              Returns the objects between `from:` and `to:`, which both count, or `above:` and `below:`, which do not;
              `limit:`, `reverse: true`, `keys: true`. O(log n), and the objects. Every object that is there throughout
              is among them. For an `:ordered_set`, as all that deals with ranges.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, for(n <- 1..9, do: {n, n * n}))|,
                ~S|Fyris.range!(table, from: 3, to: 4)|,
                ~S|[{3, 9}, {4, 16}]|
              ] do
        {from, to, rest} = bounds(options, :range)
        :fyris.range(id(table), from, to, rest)
      end

      defbang prefix(table :: table, prefix :: term, options :: [range_form] \\ []) :: [object] | [key],
              """
              Returns the objects of an `:ordered_set` whose keys begin alike, as `{:a, :_}` or `"jo"` do; `limit:`,
              `reverse: true`, `keys: true`. O(log n), and the objects.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{"joe"}, {"john"}, {"mike"}])|,
                ~S|Fyris.prefix!(table, "jo")|,
                ~S|[{"joe"}, {"john"}]|
              ] do
        options = Options.validate!(options, [:limit, :reverse, :keys])
        :fyris.prefix(id(table), prefix, Options.range(options, :prefix, 3))
      end

      defbang first(table :: table) :: key | nil,
              """
              Returns the first key, or `nil` if the table is empty: of an `:ordered_set` the lowest, O(log n), else any
              one. If `nil` may be a key, ask `member?/2`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{10}, {20}])|,
                ~S|Fyris.first!(table)|,
                ~S|10|
              ] do
        or_end(:fyris.first(id(table)))
      end

      defbang last(table :: table) :: key | nil,
              """
              Returns the last key, or `nil` if the table is empty: of an `:ordered_set` the highest, O(log n), else the
              one of `first/1`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{10}, {20}])|,
                ~S|Fyris.last!(table)|,
                ~S|20|
              ] do
        or_end(:fyris.last(id(table)))
      end

      defbang next(table :: table, key :: key) :: key | nil,
              """
              Returns the key after another one, or `nil` at the end: in an `:ordered_set` the lowest above it, whether
              it is there or not, O(log n). In other types a key that is not there is an error; `keys/1` goes over all
              of them.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{10}, {20}])|,
                ~S|Fyris.next!(table, 15)|,
                ~S|20|
              ] do
        or_end(:fyris.next(id(table), key))
      end

      defbang prev(table :: table, key :: key) :: key | nil,
              """
              Returns the key before another one, or `nil` at the end: in an `:ordered_set` the highest below it,
              whether it is there or not, O(log n). In other types it is `next/2`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{10}, {20}])|,
                ~S|Fyris.prev!(table, 10)|,
                ~S|nil|
              ] do
        or_end(:fyris.prev(id(table), key))
      end

      @doc """
      The keys of a table of any type as a stream, each once, in their order in an `:ordered_set`: read some hundred at
      a time as they are asked for, as they were when it began to run (in a table made with `consistent: false` as they
      are at each step). Raises `ArgumentError` when it is run if there is no such table.

          iex> table = Fyris.new!(type: :bag)
          iex> Fyris.insert!(table, [{:a, 1}, {:b, 2}, {:a, 3}])
          iex> table |> Fyris.keys() |> Enum.sort()
          [:a, :b]
      """
      @spec keys(table) :: Enumerable.t()
      def keys(table), do: Table.keys(id(table))

      defbang seek(table :: table, key :: key, way :: :up | :down \\ :up) :: object | nil,
              """
              Returns the first object of an `:ordered_set` at or above a key, or the last at or below it (`:down`); or
              `nil`. Linearizable. O(log n).
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{10, :ten}, {20, :twenty}])|,
                ~S|Fyris.seek!(table, 15)|,
                ~S|{20, :twenty}|
              ] do
        or_end(:fyris.seek(id(table), key, way))
      end

      defbang nth(table :: table, n :: non_neg_integer) :: key | nil,
              """
              Returns the n-th key in order, from 0, or `nil`, at the cost of a lookup; in tables on the indexes
              `:judysl` and `:judyesl`. These differ in how they cut keys into words: `index: :judyesl` serves for any.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set, index: :judyesl)|,
                ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
                ~S|Fyris.nth!(table, 1)|,
                ~S|20|
              ] do
        or_end(:fyris.nth(id(table), n))
      end

      defbang rank(table :: table, key :: key) :: non_neg_integer,
              """
              Returns the number of keys below a key, which need not be there; in the same tables as `nth/2`, at the
              cost of a lookup.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set, index: :judyesl)|,
                ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
                ~S|Fyris.rank!(table, 25)|,
                ~S|2|
              ] do
        :fyris.rank(id(table), key)
      end

      defbang count_between(table :: table, from :: key, to :: key) :: non_neg_integer,
              """
              Returns the number of keys between two, which both count; in the same tables as `nth/2`, at the cost of
              two lookups.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set, index: :judyesl)|,
                ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
                ~S|Fyris.count_between!(table, 15, 30)|,
                ~S|2|
              ] do
        :fyris.count_between(id(table), from, to)
      end

      defbang delete_range(table :: table, options :: [range_end]) :: non_neg_integer,
              """
              Deletes the objects of an `:ordered_set` between `from:` and `to:`, which both count, or `above:` and
              `below:`, which do not, and returns their number. Each is deleted atomically. O(log n), and the objects.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, for(n <- 1..9, do: {n}))|,
                ~S|Fyris.delete_range!(table, from: 3, below: 8)|,
                ~S|5|
              ] do
        {from, to, rest} = bounds(options, :delete_range)
        :fyris.delete_range(id(table), from, to, rest)
      end

      defbang take_range(table :: table, options :: [range_end] \\ []) :: [object],
              """
              Takes the objects of an `:ordered_set` between `from:` and `to:`, which both count, or `above:` and
              `below:`, which do not, out and returns them in order. Each goes to one of several callers. O(log n), and
              the objects. There is no `limit:`; the first of them are taken by a `transaction/2` of `range/2` and
              `delete/2`, as in `claim/1` of `elixir/examples/together.exs`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, for(n <- 1..9, do: {n}))|,
                ~S|Fyris.take_range!(table, from: 8)|,
                ~S|[{8}, {9}]|
              ] do
        {from, to, rest} = bounds(options, :take_range)
        :fyris.take_range(id(table), from, to, rest)
      end

      @doc """
      The objects of a range of an `:ordered_set` as a stream, with the options of `range/2`: read some hundred at a
      time as they are asked for, as they were when it began to run (of a table made with `consistent: false` as they
      are at each step). Raises `ArgumentError` when it is run for another type of table.

          iex> table = Fyris.new!(type: :ordered_set)
          iex> Fyris.insert!(table, for(n <- 1..1000, do: {n, n * n}))
          iex> stream = Fyris.stream(table, from: 10, keys: true)
          iex> stream |> Stream.each(&Fyris.delete!(table, &1 + 1)) |> Enum.take(3)
          [10, 11, 12]
      """
      @spec stream(table, [range_end | range_form]) :: Enumerable.t()
      def stream(table, options \\ []), do: Table.range(id(table), bounds(options, :range))

      defp or_end(:"$end_of_table"), do: nil
      defp or_end(found), do: found

      # The ends of a range, and the other options, as a function of `:fyris` takes them.
      defp bounds(options, function) do
        others = if function == :range, do: [:limit, :reverse, :keys], else: []
        options = Options.validate!(options, [:from, :to, :above, :below | others])
        {ends, rest} = Keyword.split(options, [:from, :to, :above, :below])
        {from, low} = bound(ends, :from, :above, :from)
        {to, high} = bound(ends, :to, :below, :to)
        {from, to, low ++ high ++ Options.range(rest, function, 4)}
      end

      defp bound(ends, included, excluded, which) do
        case {Keyword.fetch(ends, included), Keyword.fetch(ends, excluded)} do
          {:error, :error} -> {:_, []}
          {{:ok, key}, :error} -> {key, []}
          {:error, {:ok, key}} -> {key, [{which, :excluded}]}
          _ -> raise ArgumentError, "a range has #{included}: or #{excluded}:, not both"
        end
      end
    end
  end
end
