# Four small programs of processes that work together: a bank, seats that are reserved, a queue of jobs, and counts that
# are kept in step with a table.
#
#     mix run elixir/examples/together.exs

defmodule Together do
  @processes 4

  # Runs a function in several processes at once, and returns all that it has returned in one list.
  defp together(fun) do
    1..@processes |> Enum.map(&Task.async(fn -> fun.(&1) end)) |> Task.await_many() |> Enum.concat()
  end

  # Transfers between accounts: none is overdrawn, and the sum stays.
  def bank do
    accounts = Enum.into(for(n <- 0..4, do: {n, 100}), Fyris.new!(access: :public))

    results =
      together(fn p ->
        for n <- 1..200, do: transfer(accounts, rem(p + n, 5), rem(p + 3 * n + 1, 5), 10 + rem(n, 50))
      end)

    {done, refused} = Enum.split_with(results, &match?({:ok, _}, &1))
    true = Enum.all?(refused, &match?({:error, {:too_little, _}}, &1))
    {:error, {:too_little, _}} = transfer(accounts, 0, 1, 501)
    balances = for {_, balance} <- accounts, do: balance
    true = Enum.all?(balances, &(&1 >= 0))
    500 = Enum.sum(balances)
    IO.puts("bank: #{length(done)} of #{length(results)} transfers, the sum is 500")
  end

  # Takes before it looks what is left: an abort takes that back, and nobody else has seen it.
  defp transfer(accounts, from, to, amount) do
    Fyris.transaction(fn tx ->
      accounts = Fyris.within!(tx, accounts)
      left = Fyris.update_counter!(accounts, from, -amount)
      if left < 0, do: Fyris.abort({:too_little, left + amount})
      Fyris.update_counter!(accounts, to, amount)
    end)
  end

  # Everybody tries to reserve a seat in each of the processes, and nobody gets two. A free seat, {number, :free}, has
  # no third element, so the unique index does not have it.
  def reservations do
    secondary = [by_state: {:element, 2}, by_person: {:unique, {:element, 3}}]
    seats = Fyris.new!(type: :ordered_set, access: :public, secondary: secondary)
    Fyris.insert!(seats, for(n <- 1..8, do: {n, :free}))
    people = [:ada, :bob, :cleo, :dan, :eva, :finn]
    results = together(fn _ -> for person <- people, do: {person, reserve(seats, person)} end)
    refused = for {person, {:error, {:not_unique, :by_person, person}}} <- results, do: person
    18 = length(refused)
    for person <- people, do: [{_, :taken, ^person}] = Fyris.lookup_by!(seats, :by_person, person)
    2 = length(Fyris.lookup_by!(seats, :by_state, :free))
    IO.puts("reservations: 6 people have a seat each, #{length(refused)} second ones were refused")
  end

  # Gives a person the first free seat. That the person has none yet is looked at when it is committed.
  defp reserve(seats, person) do
    Fyris.transaction(fn tx ->
      seats = Fyris.within!(tx, seats)

      case Fyris.lookup_by!(seats, :by_state, :free) do
        [{number, :free} | _] -> Fyris.insert!(seats, {number, :taken, person})
        [] -> Fyris.abort(:no_seat_left)
      end
    end)
  end

  # Workers take jobs until none is ready. One that fails dies; then its job is given back, and another one begins.
  # The state is the first part of the key, so that the ready jobs are a range, whose first is the oldest.
  def job_queue do
    jobs = Fyris.new!(type: :ordered_set, access: :public, secondary: [by_worker: {:element, 3}])
    Fyris.insert!(jobs, for(n <- 1..100, do: {{:ready, n}, 0}))
    for _ <- 1..@processes, do: start_worker(jobs)
    {finished, failed} = keep_workers(jobs, @processes, [], 0)
    true = Enum.sort(finished) == Enum.to_list(1..100)
    again = for {{:done, n}, 2, _} <- jobs, do: n
    {100, 10, ^failed} = {Enum.count(jobs), length(again), length(again)}
    IO.puts("job queue: 100 jobs done once each, #{length(again)} of them at the second attempt")
  end

  defp start_worker(jobs), do: spawn_monitor(fn -> exit({:finished, work(jobs, [])}) end)

  # What a supervisor does. Returns the jobs that workers have finished, and how many workers have failed.
  defp keep_workers(_, 0, finished, failed), do: {finished, failed}

  defp keep_workers(jobs, workers, finished, failed) do
    receive do
      {:DOWN, _, :process, _, {:finished, numbers}} ->
        keep_workers(jobs, workers - 1, numbers ++ finished, failed)

      {:DOWN, _, :process, worker, {:failed, numbers}} ->
        give_back(jobs, worker)
        start_worker(jobs)
        keep_workers(jobs, workers, numbers ++ finished, failed + 1)
    end
  end

  # The jobs that a worker has finished, once none is ready.
  defp work(jobs, finished) do
    case claim(jobs) do
      {:ok, nil} ->
        finished

      {:ok, {number, 1}} when rem(number, 10) == 0 ->
        exit({:failed, finished})

      {:ok, {number, attempt}} ->
        # No function is needed between what is seen and what is written.
        {:ok, _} =
          Fyris.write_batch([
            {:check, jobs, {:taken, number}, {{:taken, number}, attempt, self()}},
            {:delete, jobs, {:taken, number}},
            {:insert, jobs, {{:done, number}, attempt, self()}}
          ])

        work(jobs, [number | finished])
    end
  end

  defp claim(jobs) do
    Fyris.transaction(fn tx ->
      jobs = Fyris.within!(tx, jobs)

      with [{{:ready, number}, attempts}] <- Fyris.prefix!(jobs, {:ready, :_}, limit: 1) do
        Fyris.delete!(jobs, {:ready, number})
        Fyris.insert!(jobs, {{:taken, number}, attempts + 1, self()})
        {number, attempts + 1}
      else
        [] -> nil
      end
    end)
  end

  defp give_back(jobs, worker) do
    {:ok, _} =
      Fyris.transaction(fn tx ->
        jobs = Fyris.within!(tx, jobs)

        for {{:taken, number}, attempts, _} <- Fyris.lookup_by!(jobs, :by_worker, worker) do
          Fyris.delete!(jobs, {:taken, number})
          Fyris.insert!(jobs, {{:ready, number}, attempts})
        end
      end)
  end

  # Keeps how many items of each category there are in a table of its own, beside the writers of the items.
  def counts do
    items = Enum.into(for(n <- 0..49, do: {n, :tea}), Fyris.new!(access: :public))
    counts = Fyris.new!(type: :ordered_set, access: :public)
    parent = self()
    watcher = Task.async(fn -> watch(items, counts, parent) end)
    receive do: (:watching -> :ok)

    together(fn p ->
      for n <- 1..500 do
        key = rem(p * 31 + n * 17, 100)
        category = elem({:cheese, :fruit, :tea}, rem(n, 3))
        if rem(n, 5) == 0, do: Fyris.delete!(items, key), else: Fyris.put!(items, key, category)
      end
    end)

    scanned = Enum.frequencies_by(items, &elem(&1, 1))
    Fyris.delete_table!(items)
    Task.await(watcher)
    ^scanned = Map.new(counts)
    IO.puts("counts: #{inspect(scanned)}, as in a scan")
  end

  # First come the objects that are there, then all that changes: nothing is missing, and nothing comes twice. The
  # stream ends with the table, once it has told all that was before.
  defp watch(items, counts, parent) do
    for event <- Fyris.stream_changes(items, :all, from: :snapshot) do
      if event == :current, do: send(parent, :watching)
      # As one: who reads the counts never sees half of an event.
      steps =
        for {category, step} <- steps(event), do: {:update_counter, counts, category, step, {category, 0}}

      {:ok, _} = Fyris.write_batch(steps)
    end
  end

  defp steps({:objects, _, objects}), do: for({_, category} <- objects, do: {category, 1})
  defp steps({:changes, changes}), do: Enum.flat_map(changes, &step/1)
  defp steps({:deleted, _}), do: []
  defp steps(:current), do: []

  defp step({:insert, _, {_, new}}), do: [{new, 1}]
  defp step({:update, _, {_, old}, {_, new}}), do: [{old, -1}, {new, 1}]
  defp step({:delete, _, {_, old}}), do: [{old, -1}]
end

Together.bank()
Together.reservations()
Together.job_queue()
Together.counts()
