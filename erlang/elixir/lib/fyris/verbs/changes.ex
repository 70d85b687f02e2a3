defmodule Fyris.Verbs.Changes do
  @moduledoc false
  # The functions of `Fyris` that tell of changes.

  alias Fyris.Options

  defmacro __using__(_) do
    quote location: :keep do
      defbang subscribe(
                tables :: table | [table],
                what :: watched,
                options :: [:fyris.subscribe_option()] \\ []
              ) ::
                :fyris.subscription(),
              """
              Subscribes the calling process to what changes in a table, or in several; see `t:watched/0`. Each message
              is `{:fyris, subscription, seq, event}`; see `t:event/0`. It ends with `unsubscribe/1`, with the process,
              and with its tables.

              > #### Keep the subscription {: .warning}
              >
              > It also ends, without a message, when no process has a reference to it any more: at some garbage
              > collection after `{:ok, _} = Fyris.subscribe(table, :all)`. A `GenServer` keeps it in its state:
              > `{:ok, %{subscription: Fyris.subscribe!(table, :all)}}`.

              Options: `from: :snapshot` (first the objects that are there, and then all changes since), `queue: n`
              (changes that wait to be sent, at most), `conflate: true` (merges waiting changes of the same key into one),
              `active: n` (so many messages, and then `{:fyris, subscription, :passive}` and no more until
              `:fyris.set_active/2`), `to: pid`. `:fyris.subscribe/3` has the details.
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
              Ends a subscription: when this returns no message of it comes any more. Those that have come stay in the
              mailbox.
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
      What changes in a table, or in several, as a stream of events: see `t:watched/0` and `t:event/0`. It waits for the
      next event, and ends when all tables are deleted.

      The process that runs it is subscribed as long as it does, and its mailbox holds no more than `active:` events,
      100 unless it says otherwise; others wait in the queue. Options: `from: :snapshot`, `queue:`, `conflate:` and
      `active:`, as in `subscribe/3`. Raises `Fyris.Error` when it is run where `subscribe/3` answers one, and
      `ArgumentError` for options that there are not.

          iex> table = Fyris.new!(type: :ordered_set)
          iex> Fyris.insert!(table, [{1, :one}, {2, :two}])
          iex> changes = Fyris.stream_changes(table, {:range, 2, :_}, from: :snapshot)
          iex> [{:objects, _, objects}, :current] = Enum.take(changes, 2)
          iex> objects
          [{2, :two}]
      """
      @spec stream_changes(table | [table], watched, [:fyris.subscribe_option()]) :: Enumerable.t()
      def stream_changes(tables, what \\ :all, options \\ []) do
        options = Options.validate!(options, [:from, :queue, :conflate, active: 100])

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

      defp ids(tables) when is_list(tables), do: Enum.map(tables, &id/1)
      defp ids(table), do: id(table)
    end
  end
end
