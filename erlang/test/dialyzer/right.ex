defmodule Right do
  # Calls in which dialyzer must find nothing (../dialyzer.sh): every option and every form of an argument.
  import Fyris.MatchSpec

  def tables do
    table =
      Fyris.new!(
        name: :right,
        type: :ordered_set,
        access: :public,
        keypos: 1,
        heir: {self(), :data},
        compressed: true,
        secondary: [by_value: {:element, 2}]
      )

    %Fyris.Table{} = Fyris.open!(:right, type: :ordered_set)
    :ok = Fyris.give_away!(table, self(), :data)
    {Fyris.info(table), Fyris.size(:right), Fyris.whereis(:nobody)}
  end

  def pairs(table) do
    :ok = table |> Fyris.put!(:a, 1)
    {:ok, _} = Fyris.fetch(table, :a)
    :error = Fyris.pop(table, :b)
    Fyris.update!(table, :a, 0, &(&1 + 1))
    {Fyris.get(table, :a), Fyris.get(table, :b, 0), Fyris.member?(table, :a)}
  end

  def objects(table) do
    true = Fyris.insert_new!(table, [{:c, 1}, {:d, 2}])
    true = Fyris.compare_and_swap!(table, {:c, 1}, {:c, 2})
    [4, 5] = Fyris.update_counter!(table, :d, [{2, 2}, {2, 1}])
    {Fyris.update_counter!(table, :e, 1, {:e, 0}), Fyris.take!(table, :d), Fyris.lookup_by!(table, :by_value, 2)}
  end

  def ranges(table) do
    [_ | _] = Fyris.range!(table, from: 1, below: 9, limit: 3, reverse: true, keys: true)
    {:ok, _} = Fyris.take_range(table, above: 3)
    {Fyris.prefix!(table, "jo", keys: true), Fyris.seek!(table, 1, :down), Fyris.stream(table, to: 3)}
  end

  def queries(table) do
    spec = [{{:"$1", :"$2"}, [{:>, :"$2", 1}], [:"$1"]}]
    [_] = Fyris.select!(table, spec, limit: 1, reverse: true)
    {:ok, [[_]]} = Fyris.match(table, {:"$1", :_}, limit: 1)
    [{_, 1}] = Fyris.match_object!(table, {:_, 1})
    :ok = Fyris.match_delete!(table, :_)
    streams = [Fyris.stream_select(table, spec, chunk: 10, limit: 3), Fyris.stream_match(table, :_, chunk: 10)]
    least = 3
    _ = Fyris.count!(table, fun(fn {^table, n} when n > ^least -> true end))
    _ = Fyris.select_replace!(table, fun(fn {k, %{a: n}} = o -> {k, [n, o, %Fyris.Table{id: n}]} end))
    {Fyris.select_delete!(table, spec), Fyris.select_replace(table, spec), streams, Fyris.keys(table)}
  end

  def elements(table) do
    {:ok, true} = Fyris.put_new(table, :f, 1)
    :ok = Fyris.delete_object!(table, {:f, 1})
    true = Fyris.update_element!(table, :f, [{2, :new}], {:f, 0})
    :unknown = Fyris.lookup_element!(table, :g, 2, :unknown)
    {:ok, nil} = Fyris.next(table, Fyris.last!(table))
    {Fyris.first!(table), Fyris.prev!(table, 1), Fyris.delete_range!(table, from: 1)}
  end

  def files(table) do
    :ok = Fyris.save!(table, "right.tab", extended_info: [:md5sum], sync: true)
    {:ok, copy} = Fyris.load("right.tab", verify: true, max_inflated: 1000)
    copy = Fyris.rename!(copy, :copy)
    {:fyris.lookup(Fyris.Table.id(copy), :a), Fyris.memory(copy), Fyris.memory()[:total]}
  end

  def together(table) do
    {:ok, _} = Fyris.transaction(fn tx -> Fyris.get(Fyris.within!(tx, table), :a) end, retries: 3, hold: 100)
    {:ok, _} = Fyris.write_batch([{:insert, table, {:a, 1}}, {:delete, table, :b}])
    subscription = Fyris.subscribe!([table], {:range, 1, :_}, from: :snapshot)
    Fyris.unsubscribe!(subscription)
  end
end
