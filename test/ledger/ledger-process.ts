/** A process of its own: opens the ledger, takes and releases the lease so many times, and prints the tokens that it got. */
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'

const [, , file = '', times = '0'] = process.argv
const ledger = await openLedger(file)
const jobId = await ledger.jobs.id('job', 'gateway')
const tokens: number[] = []
for (let at = 0; at < Number(times); at++) {
  // Everyone is dead: each taking is a change of hands.
  const answer = await ledger.leases.acquire(
    { jobId, runId: `run-${process.pid}`, owner: 'here', now: 0, ttlMs: 1 },
    () => true,
  )
  if (answer.ok) tokens.push(answer.lease.token)
}
await ledger.close()
process.stdout.write(JSON.stringify(tokens))
