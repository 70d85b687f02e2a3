defmodule Fyris.Verbs.Transactions do
  @moduledoc false
  # The functions of `Fyris` that do several things at one moment.

  alias Fyris.{Options, Table}

  defmacro __using__(_) do
    quote location: :keep do
      @doc """
      Runs `fun` in a transaction: what it reads and writes in tables of `within!/2` happens at one moment, or not at
      all. Returns `{:ok, result}`; `{:error, reason}` after `abort/1`, and `{:error, {:conflict, table, key}}` if
      others were in the way `retries:` times, 1,000 unless it says otherwise (`:infinity`). Where `fun`
      raises, throws or exits, so does this, and nothing has happened.

      After some conflicts it goes first: writes of what it has read wait for it, up to `hold:` milliseconds (100; with
      0 never). If it has not ended by then, its next read fails, and so does its end if others were faster once more:
      the reason is `{:hold_expired, hold}`. The reason is `{:not_unique, name, value}` where another object has a value
      of a unique secondary index at the end.

      `fun` is run again where others have changed what it had read, so it should do nothing else that cannot be done
      twice. Strictly serializable, among transactions and with all other calls. One within another joins it, and takes
      its own writes back if it is aborted. Raises `ArgumentError` for options that there are not.

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
      def transaction(fun, options \\ []) do
        options = Options.validate!(options, [:retries, :hold])
        of_one(fun)

        case :fyris.transaction(&exits_marked(fun, &1), options) do
          {:atomic, result} -> {:ok, result}
          {:aborted, {:throw, {Fyris, :exit, reason}}} -> exit(reason)
          {:aborted, {:throw, thrown}} -> throw(thrown)
          {:aborted, {reason, _}} when elem(reason, 0) in [:not_unique, :hold_expired] -> {:error, reason}
          {:aborted, {%Fyris.Error{reason: {:hold_expired, _} = reason}, _}} -> {:error, reason}
          {:aborted, {error, [{_, _, _, _} | _] = stack}} -> :erlang.raise(:error, error, stack)
          {:aborted, {:conflict, table, key}} -> {:error, {:conflict, table, key}}
          {:aborted, reason} -> {:error, reason}
        end
      end

      # `:fyris` takes an exit for an `abort/1`, as Mnesia does: here it goes on.
      defp exits_marked(fun, transaction) do
        fun.(transaction)
      catch
        :exit, {:aborted, _} = aborted -> exit(aborted)
        :exit, reason -> throw({Fyris, :exit, reason})
      end

      @doc """
      Returns a table, or all tables of a list, as a transaction reads and writes them: see `transaction/2`. All that
      works with objects takes it, also `Enum`. Raises `Fyris.Error` if there is no such table, and once the transaction
      has ended.

          iex> table = Fyris.new!()
          iex> Fyris.transaction(fn tx -> tx |> Fyris.within!(table) |> Fyris.put!(:joe, 1) end)
          iex> Fyris.get(table, :joe)
          1
      """
      @spec within!(:fyris.transaction(), table | [table]) :: Table.t() | [Table.t()]
      def within!(transaction, tables) when is_list(tables), do: Enum.map(tables, &within!(transaction, &1))

      def within!(transaction, table) do
        %Table{id: :fyris.within(transaction, id(table)), kind: :transaction}
      rescue
        error in [ArgumentError, ErlangError] ->
          reraise Fyris.Error.new(error, __STACKTRACE__), __STACKTRACE__
      end

      @doc """
      Does several writes and checks, of any tables, in one atomic and isolated step, or nothing: a `transaction/2` that
      needs no function. Returns `{:ok, answers}`, one for each; `{:error, {:check, operation}}` for the first check
      that does not hold. Raises `Fyris.Error` where the call of the operation's name would, and for what is none.

      Operations are `{:insert, table, objects}` and `{:insert_new, table, objects}`, of an object or a list; `{:delete,
      table, key}`, `{:take, table, key}`, `{:delete_object, table, object}`; `{:update_counter, table, key, operation}`
      and `{:update_element, table, key, changes}`, with a default behind or not. They are done in their order.
      `{:check, table, key, expected}` asks what the key held before all of them: this object, these objects in any
      order, `:absent`, or `{:unchanged, snapshot}`.

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
    end
  end
end
