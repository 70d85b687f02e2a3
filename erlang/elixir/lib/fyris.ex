defmodule Fyris do
  @moduledoc """
  Tables in memory, shared by processes: ETS and more, for Elixir.

      table = Fyris.new!(type: :ordered_set)
      Fyris.put!(table, :joe, 1)
      {:ok, 1} = Fyris.fetch(table, :joe)
      Enum.count(table)
      table |> Fyris.stream(from: :a, to: :m) |> Enum.to_list()

  ## Objects and pairs

  A table holds tuples, called objects; one element is the key, the first unless `keypos:` says otherwise.
  `insert`, `lookup`, `take` and the rest work with objects. `put`, `fetch`, `get` and `pop` take a
  table of pairs `{key, value}` as what it looks like: a map that many share.

  ## Two of each

  A call that can fail has two forms. `insert/2` answers `:ok`, `{:ok, result}` or `{:error, %Fyris.Error{}}`;
  `insert!/2` answers the result, or raises that error. `get/3` and `member?/2` only raise, as those of `Map` do.

  ## Tables are collections

  `Enum` and `Stream` take a table: a run over it shows it as it was at one moment, in the order of keys in an
  `:ordered_set` (one made with `consistent: false` as it is at each step). `Enum.into/2` fills one.

  ## Who owns a table

  The process that makes it, until it ends. `{Fyris, name: :cache}` under a supervisor starts a process that does
  nothing but own one; `owner: :none` makes a table that stays until it is deleted.
  """

  import Fyris.Defbang
  alias Fyris.Table

  @typedoc "A table, or the name of one."
  @type table :: Table.t() | atom
  @type key :: term
  @type object :: tuple
  @typedoc """
  `name:` (then other processes find the table by it), `type:` (`:set`, `:ordered_set`, `:bag`,
  `:duplicate_bag`), `access:` (`:public`, `:protected`, `:private`), `keypos:` (from 1), `heir:`
  (`{pid, data}` or `:none`), `owner:` (`:none`), `compressed:` (a boolean), `index:` (a name, or `{:library, path}`);
  `secondary:` (a keyword list of secondary indexes, each `{:element, position}`, `{:path, [position, step, ...]}` or
  `{:body, expressions}`: `lookup_by/3`; or `{:unique, one_of_these}`: then a value is one object's);
  `write_concurrency:`, `read_concurrency:` and the rest as `:fyris.new/2` has them.
  """
  @type options :: [option]
  @type option ::
          {:name, atom}
          | {:type, :set | :ordered_set | :bag | :duplicate_bag}
          | {:access, :public | :protected | :private}
          | {:keypos, pos_integer}
          | {:heir, {pid, term} | :none}
          | {:owner, :none}
          | {:compressed, boolean}
          | {:index, atom | {:library, charlist | binary}}
          | {:secondary, [{atom, term}]}
          | {:write_concurrency, boolean | :auto}
          | {:read_concurrency | :decentralized_counters, boolean}
          | {:bucket_locks, pos_integer | :auto}
          | {:reader_groups, pos_integer}
          | {:consistent, boolean}
          | {:snapshot_ttl, pos_integer | :infinity}
  @typedoc "An end of a range: `from:` and `to:` count, `above:` and `below:` do not. Without one it is open."
  @type range_end :: {:from | :to | :above | :below, key}
  @typedoc "Of what was found the first `limit:`, in descending order with `reverse: true`, keys with `keys: true`."
  @type range_form :: {:limit, pos_integer} | {:reverse | :keys, boolean}
  @typedoc """
  The changes to be told of: `:all`, `{:key, key}`, `{:range, from, to}` (both count, `:_` leaves an end open), `{:pattern,
  pattern}` or a match specification.
  """
  @type watched ::
          :all | {:key, key} | {:range, key, key} | {:pattern, :ets.match_pattern()} | :ets.match_spec()
  @typedoc """
  What a subscription tells: `{:changes, changes}` of one call or transaction, each `{:insert, table, new}`,
  `{:update, table, old, new}` or `{:delete, table, old}`; `{:cleared, table, n}`; `{:deleted, table}`; `{:overflow, lost}`
  where so many changes, at most, did not fit into the queue; `{:objects, table, objects}` and `:current` of a snapshot. A
  table is its name or the `id` of the `Fyris.Table`.
  """
  @type event :: :fyris.watch_event()
  @typedoc "An increment of the second element, or `{position, increment}`, `{position, increment, threshold, value}`, or a list."
  @type counter_op :: integer | tuple | [tuple]

  ## Tables

  defbang new(options :: options \\ []) :: Table.t(),
          """
          Makes a table that belongs to the caller and goes with it. See `t:options/0`; the error of an option that is none
          names those that there are. O(1).
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Enum.into([b: 2, a: 1], table)|,
            ~S|Enum.to_list(table)|,
            ~S|[a: 1, b: 2]|
          ] do
    %Table{id: :fyris.new(Keyword.get(options, :name, :fyris), native(options))}
  end

  defbang open(name :: atom, options :: options \\ []) :: Table.t(),
          """
          Returns the table of this name; makes it with these options if there is none. One of two callers makes it, both get
          it; it has to have the type and key position asked for. O(1).
          """,
          [
            ~S|table = Fyris.open!(:open_example, owner: :none)|,
            ~S|Fyris.size(table)|,
            ~S|0|
          ] do
    %Table{id: :fyris.open(name, native(options))}
  end

  defbang delete_table(table :: table) :: :ok,
          """
          Deletes a table with all that is in it. From then on no caller finds it.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.delete_table!(table)|, ~S|:ok|] do
    true = :fyris.delete(id(table))
    :ok
  end

  defbang give_away(table :: table, pid :: pid, data :: term) :: :ok,
          """
          Makes another process the owner; it gets `{:"ETS-TRANSFER", table, from, data}`.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|pid = spawn(fn -> Process.sleep(1000) end)|,
            ~S|Fyris.give_away!(table, pid, :data)|,
            ~S|:ok|
          ] do
    true = :fyris.give_away(id(table), pid, data)
    :ok
  end

  defbang snapshot(table :: table | [table]) :: Table.t() | [Table.t()],
          """
          Returns the table as it is at this moment, or all tables of a list as they are at one moment: to be read as a table
          is, streamed and enumerated, while others write and do not wait. What writes raises `ArgumentError`. It lasts until
          `release/1`, or until the process ends that took it.
          """,
          [
            ~S|live = Fyris.new!()|,
            ~S|Fyris.put!(live, :joe, 1)|,
            ~S|table = Fyris.snapshot!(live)|,
            ~S|Fyris.put!(live, :joe, 2)|,
            ~S|{Fyris.fetch!(table, :joe), Enum.to_list(table)}|,
            ~S|{1, [joe: 1]}|
          ] do
    case table do
      tables when is_list(tables) ->
        for snapshot <- :fyris.snapshot(Enum.map(tables, &id/1)), do: %Table{id: snapshot}

      table ->
        %Table{id: :fyris.snapshot(id(table))}
    end
  end

  defbang release(snapshot :: Table.t() | [Table.t()]) :: :ok,
          """
          Ends a snapshot, or several. What only these saw is freed in the background.
          """,
          [
            ~S|snapshot = Fyris.snapshot!(Fyris.new!())|,
            ~S|Fyris.release!(snapshot)|,
            ~S|:ok|
          ] do
    true = snapshot |> List.wrap() |> Enum.map(&id/1) |> :fyris.release()
    :ok
  end

  ## Transactions

  @doc """
  Runs `fun` in a transaction: what it reads and writes in tables of `within!/2` happens at one moment, or not at all.
  Returns `{:ok, result}`; `{:error, reason}` after `abort/1`, and `{:error, {:conflict, table, key}}` if others were in
  the way `retries:` times, 1,000 unless it says otherwise (`:infinity`). What `fun` raises or throws is raised or thrown
  on, and nothing has happened.

  After some conflicts it goes first: writes of what it has read wait for it, up to `hold:` milliseconds (100; with 0
  never). If it has not ended by then, its next read fails, and so does its end if others were faster once more: the
  reason is `{:hold_expired, hold}`. It is `{:not_unique, name, value}` where another object has a value of a unique
  secondary index at the end.

  `fun` is run again where others have changed what it had read, so it should do nothing else that cannot be done twice.
  Strictly serializable, among transactions and with all other calls. One within another joins it, and takes its own
  writes back if it is aborted. Raises `ArgumentError` for options that there are not.

      iex> table = Fyris.new!()
      iex> Fyris.insert!(table, [{:joe, 10}, {:ann, 0}])
      iex> pay = fn tx ->
      ...>   accounts = Fyris.within!(tx, table)
      ...>   left = Fyris.update_counter!(accounts, :joe, -7)
      ...>   Fyris.update_counter!(accounts, :ann, 7)
      ...>   if left < 0, do: Fyris.abort(:too_little), else: left
      ...> end
      iex> {Fyris.transaction(pay), Fyris.transaction(pay), Fyris.get(table, :ann)}
      {{:ok, 3}, {:error, :too_little}, 7}
  """
  @spec transaction((:fyris.transaction() -> result),
          retries: non_neg_integer | :infinity,
          hold: non_neg_integer
        ) :: {:ok, result} | {:error, term}
        when result: term
  def transaction(fun, options \\ []) when is_function(fun, 1) do
    options = Keyword.validate!(options, [:retries, :hold])

    case :fyris.transaction(fun, options) do
      {:atomic, result} -> {:ok, result}
      {:aborted, {:throw, thrown}} -> throw(thrown)
      {:aborted, {reason, _}} when elem(reason, 0) in [:not_unique, :hold_expired] -> {:error, reason}
      {:aborted, {%Fyris.Error{reason: {:hold_expired, _} = reason}, _}} -> {:error, reason}
      {:aborted, {error, [{_, _, _, _} | _] = stack}} -> :erlang.raise(:error, error, stack)
      {:aborted, {:conflict, table, key}} -> {:error, {:conflict, table, key}}
      {:aborted, reason} -> {:error, reason}
    end
  end

  @doc """
  Returns a table, or all tables of a list, as a transaction reads and writes them: see `transaction/2`. All that works
  with objects takes it, also `Enum`. Raises `Fyris.Error` if there is no such table, and once the transaction has ended.

      iex> table = Fyris.new!()
      iex> Fyris.transaction(fn tx -> tx |> Fyris.within!(table) |> Fyris.put!(:joe, 1) end)
      iex> Fyris.get(table, :joe)
      1
  """
  @spec within!(:fyris.transaction(), table | [table]) :: Table.t() | [Table.t()]
  def within!(transaction, tables) when is_list(tables), do: Enum.map(tables, &within!(transaction, &1))

  def within!(transaction, table) do
    %Table{id: :fyris.within(transaction, id(table))}
  rescue
    error in [ArgumentError, ErlangError] ->
      reraise Fyris.Error.new(error, __STACKTRACE__), __STACKTRACE__
  end

  @doc """
  Does several writes and checks, of any tables, in one atomic and isolated step, or nothing: a `transaction/2` that needs
  no function. Returns `{:ok, answers}`, one for each; `{:error, {:check, operation}}` for the first check that does not
  hold. Raises `Fyris.Error` where the call of the operation's name would, and for what is none.

  Operations are `{:insert, table, objects}` and `{:insert_new, table, objects}`, of an object or a list;
  `{:delete, table, key}`, `{:delete_object, table, object}`; `{:update_counter, table, key, operation}` and
  `{:update_element, table, key, changes}`, with a default behind or not. They are done in their order.
  `{:check, table, key, expected}` asks what the key held before all of them: this object, these objects in any order,
  `:absent`, or `{:unchanged, snapshot}`.

      iex> [stock, sales] = [Fyris.new!(), Fyris.new!()]
      iex> Fyris.put!(stock, :apples, 3)
      iex> sell = [
      ...>   {:check, stock, :apples, {:apples, 3}},
      ...>   {:update_counter, stock, :apples, -2},
      ...>   {:insert, sales, {1, :apples, 2}}
      ...> ]
      iex> {:ok, answers} = Fyris.write_batch(sell)
      iex> {answers, Fyris.write_batch(sell) == {:error, {:check, hd(sell)}}}
      {[true, 1, true], true}
  """
  @spec write_batch([tuple]) :: {:ok, [term]} | {:error, {:check, tuple}}
  def write_batch(operations) do
    native = Enum.map(operations, &native_operation/1)

    with {:error, {:check, check}} <- :fyris.write_batch(native) do
      {:error, {:check, Enum.at(operations, Enum.find_index(native, &(&1 === check)))}}
    end
  rescue
    error in [ArgumentError, ErlangError] ->
      reraise Fyris.Error.new(error, __STACKTRACE__), __STACKTRACE__
  end

  defp native_operation({:check, table, key, {:unchanged, snapshot}}),
    do: {:check, id(table), key, {:unchanged, id(snapshot)}}

  defp native_operation(operation) when is_tuple(operation) and tuple_size(operation) > 1,
    do: put_elem(operation, 1, id(elem(operation, 1)))

  defp native_operation(none), do: none

  @doc "Ends the function of a transaction: nothing has happened, and `transaction/2` returns `{:error, reason}`."
  @spec abort(term) :: no_return
  def abort(reason), do: :fyris.abort(reason)

  ## Watching

  defbang subscribe(tables :: table | [table], what :: watched, options :: [:fyris.subscribe_option()] \\ []) ::
            :fyris.subscription(),
          """
          Subscribes the calling process to what changes in a table, or in several; see `t:watched/0`. Each message is
          `{:fyris, subscription, seq, event}`; see `t:event/0`. It ends with `unsubscribe/1`, with the process, with the last
          reference to it, and with its tables.

          Options: `from: :snapshot` (first the objects that are there, and then all changes since), `queue: n` (changes that
          wait to be sent, at most), `conflate: true` (of changes of a key that wait one only), `active: n` (so many messages, and then `{:fyris, subscription, :passive}` and no more
          until `:fyris.set_active/2`), `to: pid`. `:fyris.subscribe/3` has the details.
          """,
          [
            ~S|table = Fyris.new!(name: :watched)|,
            ~S|subscription = Fyris.subscribe!(table, {:key, :joe})|,
            ~S|Fyris.put!(table, :joe, 1)|,
            ~S|receive do {:fyris, ^subscription, 1, event} -> event after 1000 -> :none end|,
            ~S|{:changes, [{:insert, :watched, {:joe, 1}}]}|
          ] do
    :fyris.subscribe(ids(tables), what, options)
  end

  defbang unsubscribe(subscription :: :fyris.subscription()) :: :ok,
          """
          Ends a subscription: when this returns no message of it comes any more. Those that have come stay in the mailbox.
          """,
          [
            ~S|subscription = Fyris.subscribe!(Fyris.new!(), :all)|,
            ~S|Fyris.unsubscribe!(subscription)|,
            ~S|:ok|
          ] do
    true = :fyris.unsubscribe(subscription)
    :ok
  end

  @doc """
  What changes in a table, or in several, as a stream of events: see `t:watched/0` and `t:event/0`. It waits for the next
  event, and ends when all tables are deleted.

  The process that runs it is subscribed as long as it does, and its mailbox holds no more than `active:` events, 100
  unless it says otherwise; others wait in the queue. Options: `from: :snapshot`, `queue:`, `conflate:` and `active:`,
  as in `subscribe/3`. Raises `Fyris.Error` when it is run where `subscribe/3` answers one, and `ArgumentError` for options that
  there are not.

      iex> table = Fyris.new!(type: :ordered_set)
      iex> Fyris.insert!(table, [{1, :one}, {2, :two}])
      iex> changes = Fyris.stream_changes(table, {:range, 2, :_}, from: :snapshot)
      iex> [{:objects, _, objects}, :current] = Enum.take(changes, 2)
      iex> objects
      [{2, :two}]
  """
  @spec stream_changes(table | [table], watched, [:fyris.subscribe_option()]) :: Enumerable.t()
  def stream_changes(tables, what \\ :all, options \\ []) do
    options = Keyword.validate!(options, [:from, :queue, :conflate, active: 100])

    Stream.resource(
      fn -> {subscribe!(tables, what, options), length(List.wrap(tables))} end,
      &next_event(&1, options[:active]),
      fn {subscription, _} -> end_events(subscription) end
    )
  end

  defp next_event({_, 0} = state, _), do: {:halt, state}

  defp next_event({subscription, tables} = state, active) do
    receive do
      {:fyris, ^subscription, :passive} ->
        :fyris.set_active(subscription, active)
        {[], state}

      {:fyris, ^subscription, _, {:deleted, _} = event} ->
        {[event], {subscription, tables - 1}}

      {:fyris, ^subscription, _, event} ->
        {[event], state}
    end
  end

  # Leaves nothing of it in the mailbox.
  defp end_events(subscription) do
    :fyris.unsubscribe(subscription)
    flush(subscription)
  end

  defp flush(subscription) do
    receive do
      {:fyris, ^subscription, _} -> flush(subscription)
      {:fyris, ^subscription, _, _} -> flush(subscription)
    after
      0 -> :ok
    end
  end

  @doc "Returns what there is to know of a table; `nil` if there is none."
  @spec info(table) :: keyword | nil
  def info(table), do: table |> id() |> :fyris.info() |> or_nil()

  @doc "Returns the number of objects: exact, whatever others do."
  @spec size(table) :: non_neg_integer | nil
  def size(table), do: table |> id() |> :fyris.info(:size) |> or_nil()

  @doc "Returns the table of a name, or `nil`."
  @spec whereis(atom) :: Table.t() | nil
  def whereis(name) do
    case :fyris.whereis(name) do
      :undefined -> nil
      id -> %Table{id: id}
    end
  end

  ## Pairs

  @doc """
  Returns the value of a key in a table of pairs: `{:ok, value}`, or `:error` if it has none. Linearizable. O(1) on
  average, O(log n) in an `:ordered_set`. Raises `ArgumentError` if there is no such table, for an object that is no
  pair, and for a key of a bag that has several, as `fetch!/2` and `get/3` do.

      iex> table = Fyris.new!()
      iex> Fyris.put!(table, :joe, 1)
      iex> {Fyris.fetch(table, :joe), Fyris.fetch(table, :ann)}
      {{:ok, 1}, :error}
  """
  @spec fetch(table, key) :: {:ok, term} | :error
  def fetch(table, key) do
    case :fyris.lookup(id(table), key) do
      [object] -> {:ok, value(object, key)}
      [] -> :error
      several -> raise ArgumentError, "#{length(several)} objects have the key #{inspect(key)}: lookup/2 returns them"
    end
  end

  defp value({its, value}, key) when its == key, do: value
  # The key may be the second element.
  defp value({value, its}, key) when its == key, do: value

  defp value(object, _) do
    raise ArgumentError, "an object of #{tuple_size(object)} elements is no pair of a key and a value"
  end

  @doc "Returns the value of a key; raises `KeyError` if it has none."
  @spec fetch!(table, key) :: term
  def fetch!(table, key) do
    case fetch(table, key) do
      {:ok, value} -> value
      :error -> raise KeyError, key: key, term: table
    end
  end

  @doc """
  Returns the value of a key, or a default, as `fetch/2` does.

      iex> table = Fyris.new!()
      iex> Fyris.get(table, :joe, 0)
      0
  """
  @spec get(table, key, term) :: term
  def get(table, key, default \\ nil) do
    case fetch(table, key) do
      {:ok, value} -> value
      :error -> default
    end
  end

  @doc "Returns whether there is an object with this key."
  @spec member?(table, key) :: boolean
  def member?(table, key), do: :fyris.member(id(table), key)

  defbang put(table :: table, key :: key, value :: term) :: :ok,
          """
          Puts a pair into a table, in the place of one with the same key: `{key, value}`, or `{value, key}` where the key is
          the second element. A bag, or a key further behind, is an error. Linearizable. O(1) on average, O(log n) in an
          `:ordered_set`.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.put!(table, :joe, 1)|, ~S|:ok|] do
    true = :fyris.put(id(table), key, value)
    :ok
  end

  @doc """
  Takes a pair out and returns its value: `{:ok, value}`, or `:error` if the key has none. Atomic: of several callers one
  gets it. Raises `ArgumentError`, and takes nothing, for an object that is no pair, and for a bag: `take/2` has all
  objects of a key.

      iex> table = Fyris.new!()
      iex> Fyris.put!(table, :joe, 1)
      iex> {Fyris.pop(table, :joe), Fyris.pop(table, :joe)}
      {{:ok, 1}, :error}
  """
  @spec pop(table, key) :: {:ok, term} | :error
  def pop(table, key) do
    # What is no pair stays, and so do the objects of a key that may have several.
    if :fyris.info(id(table), :type) in [:bag, :duplicate_bag] do
      raise ArgumentError, "a key of a bag has any number of values: take/2 returns its objects"
    end

    with {:ok, _} <- fetch(table, key),
         [object] <- :fyris.take(id(table), key) do
      {:ok, value(object, key)}
    else
      _ -> :error
    end
  end

  defbang update(table :: table, key :: key, default :: term, fun :: (term -> term)) :: term,
          """
          Puts `fun` of the value of a key, or the default if it has none; returns the new value. Atomic: `fun` is called again
          when another writer comes between, so it should do nothing else.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.put!(table, :joe, 1)|,
            ~S|Fyris.update!(table, :joe, 0, &(&1 + 1))|,
            ~S|2|
          ] do
    {_, value} = :fyris.upsert(id(table), key, {key, default}, fn object -> {key, fun.(value(object, key))} end)

    value
  end

  ## Objects

  defbang insert(table :: table, objects :: object | [object]) :: :ok,
          """
          Inserts an object, or all of a list in one step, which every reader sees whole. O(1) on average, O(log n) in an
          `:ordered_set`, for each.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2, :more}])|, ~S|:ok|] do
    true = :fyris.insert(id(table), objects)
    :ok
  end

  defbang insert_new(table :: table, objects :: object | [object]) :: boolean,
          """
          Inserts as `insert/2` does if none of the keys is there; returns whether it did. Atomic, also of a list.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, {:a, 1})|,
            ~S|Fyris.insert_new!(table, [{:a, 2}, {:b, 2}])|,
            ~S|false|
          ] do
    :fyris.insert_new(id(table), objects)
  end

  defbang lookup(table :: table, key :: key) :: [object],
          """
          Returns the objects with a key: none or one, in the bags any number. Linearizable. O(1) on average, O(log n) in an
          `:ordered_set`, and the size of the objects, which are built anew.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, {:a, 1})|,
            ~S|Fyris.lookup!(table, :a)|,
            ~S|[{:a, 1}]|
          ] do
    :fyris.lookup(id(table), key)
  end

  defbang lookup_many(table :: table, keys :: [key]) :: [[object]],
          """
          Returns the objects of many keys: a list for each. As many lookups, with their memory asked for together.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
            ~S|Fyris.lookup_many!(table, [:b, :c])|,
            ~S|[[{:b, 2}], []]|
          ] do
    :fyris.lookup_many(id(table), keys)
  end

  defbang lookup_by(table :: table, index :: atom, value :: term) :: [object],
          """
          Returns the objects that have a value by a secondary index, an option `secondary:` of the table, in the order
          of their keys. Values are compared by `===`. If it visits more than 512 objects, it sees them as they were at
          one moment. O(log n), and the objects.
          """,
          [
            ~S|table = Fyris.new!(secondary: [by_city: {:element, 3}, by_year: {:path, [2, :born]}])|,
            ~S|Fyris.insert!(table, [{:ada, %{born: 1815}, :london}, {:alan, %{born: 1912}, :london}])|,
            ~S|Fyris.lookup_by!(table, :by_year, 1912)|,
            ~S|[{:alan, %{born: 1912}, :london}]|
          ] do
    :fyris.lookup_by(id(table), index, value)
  end

  defbang add_secondary(table :: table, index :: atom, value :: tuple) :: :ok,
          """
          Adds a secondary index to a table, which may be in use, as the option `secondary:` would have made it. Others
          read and write meanwhile. O(n log n), on a dirty scheduler.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, [{:ada, :london}, {:emmy, :erlangen}])|,
            ~S|Fyris.add_secondary!(table, :by_city, {:element, 2})|,
            ~S|Fyris.lookup_by!(table, :by_city, :erlangen)|,
            ~S|[{:emmy, :erlangen}]|
          ] do
    true = :fyris.add_secondary(id(table), index, value)
    :ok
  end

  defbang remove_secondary(table :: table, index :: atom) :: :ok,
          """
          Removes a secondary index. Costs what adding it does.
          """,
          [
            ~S|table = Fyris.new!(secondary: [by_city: {:element, 3}])|,
            ~S|Fyris.remove_secondary!(table, :by_city)|,
            ~S|:ok|
          ] do
    true = :fyris.remove_secondary(id(table), index)
    :ok
  end

  defbang get_in_object(table :: table, key :: key, path :: [term]) :: term | nil,
          """
          Returns a part of an object, or `nil`, without building the rest: `path` begins with a position, from 1, then come
          keys of maps and positions. Linearizable.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, {:joe, %{age: 41, name: "Joe"}})|,
            ~S|Fyris.get_in_object!(table, :joe, [2, :age])|,
            ~S|41|
          ] do
    case :fyris.get_in(id(table), key, path) do
      {:ok, part} -> part
      :error -> nil
    end
  end

  defbang delete(table :: table, key :: key) :: :ok,
          """
          Deletes the objects with a key, if there are any. Linearizable. O(1) on average, O(log n) in an `:ordered_set`.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.delete!(table, :a)|, ~S|:ok|] do
    true = :fyris.delete(id(table), key)
    :ok
  end

  defbang take(table :: table, key :: key) :: [object],
          """
          Takes the objects with a key out and returns them. Atomic: of several callers one gets them.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, {:a, 1})|,
            ~S|Fyris.take!(table, :a)|,
            ~S|[{:a, 1}]|
          ] do
    :fyris.take(id(table), key)
  end

  defbang clear(table :: table) :: :ok,
          """
          Empties a table in one step. O(1) for the caller.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.clear!(table)|, ~S|:ok|] do
    true = :fyris.delete_all_objects(id(table))
    :ok
  end

  defbang drain(table :: table) :: [object],
          """
          Takes all objects out and returns them. Each goes to one of several callers; one that is inserted meanwhile is
          returned or stays.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, [{:b, 2}, {:a, 1}])|,
            ~S|Fyris.drain!(table)|,
            ~S|[{:a, 1}, {:b, 2}]|
          ] do
    :fyris.drain(id(table))
  end

  defbang compare_and_swap(table :: table, old :: object, new :: object) :: boolean,
          """
          Replaces an object if exactly `old` is there; returns whether it did. Atomic.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, {:a, 1})|,
            ~S|Fyris.compare_and_swap!(table, {:a, 1}, {:a, 2})|,
            ~S|true|
          ] do
    :fyris.compare_and_swap(id(table), old, new)
  end

  defbang update_counter(table :: table, key :: key, operation :: counter_op, default :: object | nil \\ nil) ::
            integer | [integer],
          """
          Adds to integers of an object in one step and returns the new ones; `default` is the object for a key that is not
          there. Atomic.
          """,
          [~S|table = Fyris.new!()|, ~S|Fyris.update_counter!(table, :hits, {2, 3}, {:hits, 0})|, ~S|3|] do
    case default do
      nil -> :fyris.update_counter(id(table), key, operation)
      _ -> :fyris.update_counter(id(table), key, operation, default)
    end
  end

  ## Queries

  defbang select(table :: table, spec :: :ets.match_spec()) :: [term],
          """
          Returns what a match specification makes of the objects. If it visits more than 512, it sees them as they were
          at one moment; else it visits each that is there throughout once, and perhaps others. If it names keys, or a
          range of them in an `:ordered_set`, no others are visited (`explain/2`).
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
            ~S|Fyris.select!(table, [{{:"$1", :"$2"}, [{:>, :"$2", 1}], [:"$1"]}])|,
            ~S|[:b]|
          ] do
    :fyris.select(id(table), spec)
  end

  defbang count(table :: table, spec :: :ets.match_spec()) :: non_neg_integer,
          """
          Returns the number of objects of which a match specification says `true`; visits those that `select/2` would.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
            ~S|Fyris.count!(table, [{{:_, :"$1"}, [{:>, :"$1", 1}], [true]}])|,
            ~S|1|
          ] do
    :fyris.select_count(id(table), spec)
  end

  defbang explain(table :: table, spec :: :ets.match_spec()) :: map,
          """
          Returns how a `select` would find its objects (`:kind`, `:plan`), about how many it would visit (`:estimated`), and
          how many there are (`:size`); `:secondary` is the secondary index that finds them, if one does. Visits no more
          than 256 to say so.
          """,
          [
            ~S|table = Fyris.new!()|,
            ~S|Fyris.explain!(table, [{{:a, :_}, [], [:"$_"]}])|,
            ~S|%{estimated: 1, kind: :point, plan: %{access: :point, bounds: [key: :a]}, size: 0}|
          ] do
    :fyris.explain(id(table), spec)
  end

  ## Order: tables of the type `:ordered_set`

  defbang range(table :: table, options :: [range_end | range_form] \\ []) :: [object] | [key],
          """
          Returns the objects between `from:` and `to:`, which both count, or `above:` and `below:`, which do not;
          `limit:`, `reverse: true`, `keys: true`. O(log n), and the objects. Every object that is there throughout is
          among them.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, for(n <- 1..9, do: {n, n * n}))|,
            ~S|Fyris.range!(table, from: 3, to: 4)|,
            ~S|[{3, 9}, {4, 16}]|
          ] do
    {from, to, rest} = bounds(options, [:limit, :reverse, :keys])
    :fyris.range(id(table), from, to, rest)
  end

  defbang prefix(table :: table, prefix :: term, options :: [range_form] \\ []) :: [object] | [key],
          """
          Returns the objects whose keys begin alike, as `{:a, :_}` or `"jo"` do; `limit:`, `reverse: true`, `keys: true`.
          O(log n), and the objects.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, [{"joe"}, {"john"}, {"mike"}])|,
            ~S|Fyris.prefix!(table, "jo")|,
            ~S|[{"joe"}, {"john"}]|
          ] do
    options = Keyword.validate!(options, [:limit, :reverse, :keys])
    :fyris.prefix(id(table), prefix, Enum.flat_map(options, &range_option/1))
  end

  defbang seek(table :: table, key :: key, way :: :up | :down \\ :up) :: object | nil,
          """
          Returns the first object at or above a key, or the last at or below it (`:down`); or `nil`. Linearizable. O(log n).
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, [{10, :ten}, {20, :twenty}])|,
            ~S|Fyris.seek!(table, 15)|,
            ~S|{20, :twenty}|
          ] do
    case :fyris.seek(id(table), key, way) do
      :"$end_of_table" -> nil
      object -> object
    end
  end

  defbang nth(table :: table, n :: non_neg_integer) :: key | nil,
          """
          Returns the n-th key in order, from 0, or `nil`; in tables on the indexes `:judysl` and `:judyesl`, at the cost of a
          lookup.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set, index: :judysl)|,
            ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
            ~S|Fyris.nth!(table, 1)|,
            ~S|20|
          ] do
    case :fyris.nth(id(table), n) do
      :"$end_of_table" -> nil
      key -> key
    end
  end

  defbang rank(table :: table, key :: key) :: non_neg_integer,
          """
          Returns the number of keys below a key, which need not be there; in the same tables as `nth/2`, at the cost of a
          lookup.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set, index: :judysl)|,
            ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
            ~S|Fyris.rank!(table, 25)|,
            ~S|2|
          ] do
    :fyris.rank(id(table), key)
  end

  defbang count_between(table :: table, from :: key, to :: key) :: non_neg_integer,
          """
          Returns the number of keys between two, which both count; in the same tables as `nth/2`, at the cost of two lookups.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set, index: :judysl)|,
            ~S|Fyris.insert!(table, [{10}, {20}, {30}])|,
            ~S|Fyris.count_between!(table, 15, 30)|,
            ~S|2|
          ] do
    :fyris.count_between(id(table), from, to)
  end

  defbang take_range(table :: table, options :: [range_end] \\ []) :: [object],
          """
          Takes the objects between `from:` and `to:`, which both count, or `above:` and `below:`, which do not, out and
          returns them in order. Each goes to one of several callers. O(log n), and the objects.
          """,
          [
            ~S|table = Fyris.new!(type: :ordered_set)|,
            ~S|Fyris.insert!(table, for(n <- 1..9, do: {n}))|,
            ~S|Fyris.take_range!(table, from: 8)|,
            ~S|[{8}, {9}]|
          ] do
    {from, to, rest} = bounds(options, [])
    :fyris.take_range(id(table), from, to, rest)
  end

  @doc """
  The objects of a range as a stream, with the options of `range/2`: read some hundred at a time as they are
  asked for, so what others insert or delete further on is seen or not seen.
  """
  @spec stream(table, [range_end | range_form]) :: Enumerable.t()
  def stream(table, options \\ []), do: Table.range(id(table), bounds(options, [:limit, :reverse, :keys]))

  ## Supervision

  @doc """
  A process that owns a table, for a supervisor: `{Fyris, name: :cache, type: :set}`. The table is public unless
  `access:` says otherwise.
  """
  @spec child_spec(options) :: Supervisor.child_spec()
  def child_spec(options) do
    %{id: {Fyris, Keyword.fetch!(options, :name)}, start: {Fyris.Owner, :start_link, [options]}}
  end

  ## Options

  defp ids(tables) when is_list(tables), do: Enum.map(tables, &id/1)
  defp ids(table), do: id(table)

  defp id(%Table{id: id}), do: id
  defp id(name), do: name

  defp or_nil(:undefined), do: nil
  defp or_nil(value), do: value

  defp native(options), do: Enum.map(options, &native_option/1) |> List.flatten()

  defp native_option({:name, _}), do: :named_table
  defp native_option({:type, type}), do: type
  defp native_option({:access, access}), do: access
  defp native_option({:heir, {pid, data}}), do: {:heir, pid, data}
  defp native_option({:secondary, indexes}) when is_list(indexes),
    do: for({name, value} <- indexes, do: {:secondary, name, value})

  defp native_option({:compressed, true}), do: :compressed
  defp native_option({:compressed, false}), do: []
  defp native_option(other), do: other

  # The ends of a range, and the other options, as `:fyris` takes them.
  defp bounds(options, others) do
    options = Keyword.validate!(options, [:from, :to, :above, :below | others])
    {ends, rest} = Keyword.split(options, [:from, :to, :above, :below])
    {from, low} = bound(ends, :from, :above, :from)
    {to, high} = bound(ends, :to, :below, :to)
    {from, to, low ++ high ++ Enum.flat_map(rest, &range_option/1)}
  end

  defp bound(ends, included, excluded, which) do
    case {Keyword.fetch(ends, included), Keyword.fetch(ends, excluded)} do
      {:error, :error} -> {:_, []}
      {{:ok, key}, :error} -> {key, []}
      {:error, {:ok, key}} -> {key, [{which, :excluded}]}
      _ -> raise ArgumentError, "a range has #{included}: or #{excluded}:, not both"
    end
  end

  defp range_option({:reverse, true}), do: [:reverse]
  defp range_option({:reverse, false}), do: []
  defp range_option({:keys, true}), do: [:keys]
  defp range_option({:keys, false}), do: []
  defp range_option(other), do: [other]
end
