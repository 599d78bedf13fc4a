import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { ALONE, poolOf } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { asAdmin, emptySchema } from '../postgres/server.ts'

const PERSON = '0123456789abcdef0123456789abcdef'

async function opened(url: string) {
  const ledger = await openPostgresLedger({ url }, { ids: createAccountIdCipher(() => 'key') })
  onTestFinished(() => ledger.close())
  return ledger
}

const requestOf = (jobId: number, owner: string, more: object = {}) => ({
  ...{ jobId, runId: 'run-1', owner, now: 0, ttlMs: 60_000 },
  ...more,
})

async function beginRun(ledger: Awaited<ReturnType<typeof opened>>, owner = 'here:1') {
  const jobId = await ledger.jobs.id('job', 'gateway')
  const answer = await ledger.leases.acquire(requestOf(jobId, owner), () => false)
  if (!answer.ok) return expect.fail('the lease is held')
  const paths = { rejectsPath: 'rejects', receiptsPath: 'receipts' }
  return ledger.runs.start(answer.lease, { id: 'run-1', jobId, startedAt: 0, ...paths })
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('a job is not taken over in the middle of a transaction of its run, and the run writes nothing afterwards', async () => {
  const url = await emptySchema()
  const [one, other] = [await opened(url), await opened(url)]
  const run = await beginRun(one)
  await run.saveAccounts('gateway', [{ reference: PERSON, accountId: 'a', sentBefore: null }], 0)
  // Another connection locks a row that the run is about to write.
  const locking = await connected(url)
  await locking.query('begin')
  await locking.query('select reference from account for update')
  const looking = await connected(url)
  const waiting = async (): Promise<number> => {
    const { rows } = await looking.query(`select 1 from pg_locks where not granted`)
    return rows.length
  }
  const ended: string[] = []
  const writing = run.forgetAccount('gateway', PERSON, 'a').finally(() => ended.push('written'))
  await expect.poll(waiting).toBe(1)
  const taking = other.leases
    .acquire(requestOf(run.lease.jobId, 'there:2'), () => true)
    .finally(() => ended.push('taken over'))
  await expect.poll(async () => ended.length > 0 || (await waiting()) === 2).toBe(true)
  await locking.query('commit')
  await writing
  expect(await taking).toMatchObject({ ok: true, lease: { token: run.lease.token + 1 } })
  expect(ended).toEqual(['written', 'taken over'])
  await expect(
    run.saveAccounts('gateway', [{ reference: PERSON, accountId: 'a', sentBefore: null }], 0),
  ).rejects.toMatchObject({ code: 'lease-lost' })
  expect(await other.people.accounts('gateway', [PERSON])).toEqual(new Map())
})

test('a look whether a run has stopped waits for no writer of another machine', async () => {
  const url = await emptySchema()
  const ledger = await opened(url)
  await beginRun(ledger)
  await ledger.leases.stop('run-1', { by: 'ann', note: null, at: 0 }, () => false)
  const writing = await connected(url)
  await writing.query('begin')
  await writing.query(ALONE)
  expect(await ledger.leases.isStopping('run-1', 0, () => false)).toBe(true)
})

test('of many connections that ask for a job at once, one has it', async () => {
  const url = await emptySchema()
  const ledgers = await Promise.all([1, 2, 3, 4].map(() => opened(url)))
  const jobIds = await Promise.all(ledgers.map((ledger) => ledger.jobs.id('job', 'gateway')))
  expect(new Set(jobIds).size).toBe(1)
  const answers = await Promise.all(
    ledgers.map((ledger, at) => ledger.leases.acquire(requestOf(jobIds[0] ?? 0, `here:${at}`), () => false)),
  )
  expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
})

test('a lease lasts by the clock of the server, whatever the clock of the process says', async () => {
  const url = await emptySchema()
  const ledger = await opened(url)
  const { lease } = await beginRun(ledger)
  const [longAgo, farAhead] = [0, 9_000_000_000_000]
  for (const now of [longAgo, farAhead]) {
    expect(await ledger.leases.holder(lease.jobId, now, () => false)).toMatchObject({ owner: 'here:1' })
    expect(
      await ledger.leases.acquire(requestOf(lease.jobId, 'there:2', { now }), () => false),
    ).toMatchObject({
      ok: false,
    })
  }
  await asAdmin(url, 'update lease set expires_at = expires_at - 60000')
  expect(await ledger.leases.holder(lease.jobId, longAgo, () => false)).toBeUndefined()
})

test('two jobs that claim the same people in another order never wait for each other', async () => {
  const url = await emptySchema()
  const [one, other] = [await opened(url), await opened(url)]
  const people = Array.from({ length: 200 }, (_, at) => at.toString(16).padStart(32, '0'))
  const first = await beginRun(one)
  const jobId = await other.jobs.id('other', 'gateway')
  const answer = await other.leases.acquire(requestOf(jobId, 'there:2', { runId: 'run-2' }), () => false)
  if (!answer.ok) expect.fail('the lease is held')
  const paths = { rejectsPath: 'rejects', receiptsPath: 'receipts' }
  const second = await other.runs.start(answer.lease, { id: 'run-2', jobId, startedAt: 0, ...paths })
  const claim = (run: typeof first, accounts: readonly string[]) =>
    run.claimAccounts({ gateway: 'gateway', accounts, now: 0 }, () => false)
  const claimed = await Promise.all([claim(first, people), claim(second, people.toReversed())])
  expect(claimed.map(({ accounts }) => accounts.size).sort((a, b) => a - b)).toEqual([0, people.length])
})

test('a server that is away, and a role without rights, are said so, without the password', async () => {
  const url = await emptySchema()
  const { port } = new URL(url)
  const away = `postgres://somebody:geheim@127.0.0.1:1/ledger`
  const refused = await openPostgresLedger({ url: away }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'ledger-unusable' })
  expect(String(refused)).toContain('postgres://127.0.0.1:1/ledger')
  expect(JSON.stringify(refused) + String(refused)).not.toContain('geheim')
  await asAdmin(
    url,
    `do $$ begin create role reader login; exception when duplicate_object then null; end $$`,
  )
  const reader = `postgres://reader@127.0.0.1:${port}/postgres`
  await expect(openPostgresLedger({ url: reader })).rejects.toMatchObject({ code: 'ledger-unusable' })
})

test('a connection that the server ends between two statements fails with the next one, and ends no process', async () => {
  const url = await emptySchema()
  const pool = poolOf({ url })
  onTestFinished(() => pool.end())
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
  await asAdmin(url, `select pg_terminate_backend(${rows[0]?.pid})`)
  await ended
  await expect(client.query('select 1')).rejects.toThrow()
  client.release(true)
})
