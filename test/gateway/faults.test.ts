import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Fault, suits, targetsOf } from '../../packages/reference-gateway/src/fault-plan.ts'
import { ENDPOINT_NAMES } from '../../packages/reference-gateway/src/fault-targets.ts'
import type { FaultGiven } from '../../packages/reference-gateway/test/struck-gateway.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { closedPort } from '../closed-port.ts'
import { DOCUMENTED_CALLS } from './documented-calls.ts'
import { type Outcome, ROWS, type Row, type Struck } from './fault-outcomes.ts'
import { account, NOW, type SharedReference, startSharedReference, TOKEN } from './shared-reference.ts'
import { type Attempt, type StruckWrite, type Told, WRITES } from './struck-writes.ts'

/** No call may take longer, also not on a machine that has other things to do. */
const BOUND_MS = 120_000
const POLLED = { interval: 10 }

let reference: SharedReference
let gateway: Gateway
let impatient: Gateway
let nowhere: string
let unreachable: Gateway
let cases = 0

beforeAll(async () => {
  reference = await startSharedReference()
  nowhere = `http://127.0.0.1:${await closedPort()}`
  const options: GatewayOptions = {
    baseUrl: reference.url,
    apiKey: 'the-key',
    accessToken: async () => TOKEN,
    now: () => NOW,
    nextRequestId: () => 'request',
    maxAnswerBytes: 100_000,
  }
  gateway = createGateway(options)
  impatient = createGateway({ ...options, timeouts: { response: 100 } })
  unreachable = createGateway({ ...options, baseUrl: nowhere })
})
afterEach(() => reference.endCase())
afterAll(async () => {
  for (const one of [gateway, impatient, unreachable]) one.close()
  await reference.close()
})

/** A call that is new to the gateway, and lawful. */
async function prepared(write: StruckWrite): Promise<Attempt> {
  cases += 1
  const subject = `case-${cases}`
  return write.prepare(reference, subject)
}

/** How often each key is stored. */
type Stored = Awaited<ReturnType<Attempt['stored']>>

/** What the client said: a result, or an error. */
type Ended = { readonly told: Told } | { readonly error: GatewayError }

async function ended(call: Promise<Told>): Promise<Ended> {
  try {
    return { told: await call }
  } catch (error) {
    if (error instanceof GatewayError) return { error }
    throw error
  }
}

const classOf = (end: Ended) => ('told' in end ? end.told.class : end.error.class)

/**
 * The law: whether the gateway holds what the class of the answer says that it holds. Nothing is ever there twice.
 */
function isTrue(end: Ended, sent: readonly string[], stored: Stored): boolean {
  const times = (key: string): number => stored[key] ?? 0
  const echoed = 'told' in end ? end.told.echoes.filter((key) => sent.includes(key)) : []
  switch (classOf(end)) {
    case 'not-sent':
    case 'not-taken':
    case 'refused':
    case 'too-large':
    case 'stale-token':
    case 'not-allowed':
      return sent.every((key) => times(key) === 0)
    case 'accepted':
      return sent.every((key) => times(key) === 1 && echoed.includes(key))
    case 'accepted-in-part':
      return sent.every((key) => (echoed.includes(key) ? times(key) === 1 : times(key) <= 1))
    case 'ambiguous':
      return sent.every((key) => times(key) <= 1)
  }
}

/** How many of four, or of one, a word of the table means. */
const numberOf = (stored: Outcome['stored'], all: number): number =>
  ({ nothing: 0, half: all / 2, all })[stored]

const outcomeFor = ({ outcome }: Row, { answer }: StruckWrite): Outcome =>
  'class' in outcome ? outcome : outcome[answer]

/** What the client said is what the table says that it must say. */
function expectSaid(end: Ended, outcome: Outcome, write: StruckWrite): void {
  expect(classOf(end)).toBe(outcome.class)
  const answered =
    outcome.class.startsWith('accepted') ||
    (outcome.status !== undefined && outcome.status === write.alsoAnswers)
  expect('told' in end).toBe(answered)
  if ('told' in end) {
    if (write.answer !== 'echo') return
    const { echoes = 4, errors = 0 } = outcome
    expect([end.told.echoes.length, end.told.errors]).toEqual([echoes, errors])
    return
  }
  const { status, retryAfterMs, gatewayMessage } = end.error
  expect(retryAfterMs).toBe(outcome.retryAfterMs)
  if ('status' in outcome) expect(status).toBe(outcome.status)
  if (outcome.words === null) expect(gatewayMessage).toBeUndefined()
  else expect(gatewayMessage ?? '').toContain(outcome.words ?? '')
}

/** By got, and by node:http; and one of each way of answering. */
const READ_FOR: readonly StruckWrite['name'][] = [
  'biometrics.create',
  'biometrics.createBulk',
  'accounts.register',
  'careTeams.delete',
]

/** A row's name: the fault as it stands in a plan. */
const named = <One extends { readonly fault: Struck }>(row: One) => ({
  ...row,
  name: JSON.stringify(row.fault).replace('"do":', '').replaceAll('"', ''),
})

async function timed(call: Promise<Told>): Promise<Ended> {
  const began = performance.now()
  const end = await ended(call)
  expect(performance.now() - began).toBeLessThan(BOUND_MS)
  return end
}

/** The client says what it must, and the gateway holds what that says. */
async function expectLawful(end: Ended, row: Row, write: StruckWrite, attempt: Attempt): Promise<void> {
  const outcome = outcomeFor(row, write)
  expectSaid(end, outcome, write)
  const { sent } = attempt
  let stored: Stored = {}
  // What is stored late is waited for.
  const look = async (): Promise<number> => {
    stored = await attempt.stored()
    return sent.reduce((sum, key) => sum + (stored[key] ?? 0), 0)
  }
  await expect.poll(look, POLLED).toBe(numberOf(outcome.stored, sent.length))
  if (outcome.lie !== 'of-ids') expect(isTrue(end, sent, stored)).toBe(outcome.lie !== true)
}

describe.each(WRITES)('$name', (write) => {
  const rows = ROWS.filter(
    ({ fault, late, once }) =>
      late !== true && suits(fault.do, write.endpoint) && (once !== true || READ_FOR.includes(write.name)),
  )

  it.each(rows.map(named))('$name', async (row) => {
    // Before what is prepared: no preparation makes the call itself.
    await reference.loadFault({ ...row.fault, on: write.endpoint } as FaultGiven)
    for (let passed = 0; passed < (row.letPass ?? 0); passed++) {
      const before = await prepared(write)
      expect((await before.call(gateway, reference.url)).class).toBe('accepted')
    }
    const attempt = await prepared(write)
    const end = await timed(attempt.call(gateway, reference.url))
    expect(await reference.struck()).toBe(1)
    await reference.clearFaults()
    await expectLawful(end, row, write, attempt)
  })

  it('a gateway that cannot be reached', async () => {
    const attempt = await prepared(write)
    const end = await ended(attempt.call(unreachable, nowhere))
    expectSaid(end, { class: 'not-sent', status: undefined, words: null, stored: 'nothing' }, write)
    expect(isTrue(end, attempt.sent, await attempt.stored())).toBe(true)
  })
})

describe('every write, without an answer in time', () => {
  // All at once, since each takes all the time that the client waits.
  it.each(ROWS.filter(({ late }) => late === true).map(named))('$name', async (row) => {
    const attempts = []
    for (const write of WRITES) attempts.push({ write, attempt: await prepared(write) })
    await reference.loadFault({ ...row.fault, on: 'writes' } as FaultGiven)
    const calls = attempts.map(({ attempt }) => timed(attempt.call(impatient, reference.url)))
    const ends = await Promise.all(calls)
    await expect.poll(reference.struck, POLLED).toBe(WRITES.length)
    await reference.clearFaults()
    for (const [at, { write, attempt }] of attempts.entries()) {
      const end = ends[at]
      if (end !== undefined) await expectLawful(end, row, write, attempt)
    }
  })
})

describe.each([
  ['biometric', 'biometrics.create', (to: Gateway, of: string) => to.biometrics.read(account(of))],
  ['condition', 'conditions.create', (to: Gateway, of: string) => to.conditions.read(account(of))],
  ['careTeam', 'careTeams.create', (to: Gateway, of: string) => to.careTeams.list(account(of))],
] as const)('a read that lags behind: %s', (kind, name, read) => {
  it('gives nothing of what was accepted, and is no proof that it is not there', async () => {
    const write = WRITES.find((one) => one.name === name)
    if (write === undefined) throw new Error(name)
    const attempt = await prepared(write)
    const owner = `case-${cases}`
    await reference.loadFault({ do: 'lag', on: 'reads', ms: 1_000 })
    const end = await ended(attempt.call(gateway, reference.url))
    expect(await read(gateway, owner)).toEqual([])
    expect(await reference.struck()).toBe(1)
    expect((await reference.counts())[kind]).toBe(4)
    expect([classOf(end), isTrue(end, attempt.sent, await attempt.stored())]).toEqual(['accepted', true])
    await reference.clearFaults()
    expect(await read(gateway, owner)).not.toEqual([])
  })
})

describe('the table', () => {
  const OF_READS = ['lag', 'profile']

  it('has every kind of fault but those of reads', () => {
    const kinds = Fault.options.map((one) => one.shape.do.value)
    const given = new Set(ROWS.map(({ fault }) => fault.do))
    expect([...given, ...OF_READS].sort()).toEqual(kinds.sort())
  })

  it('has every value of every key with which a fault is chosen', () => {
    const faults = ROWS.map(({ fault }) => Fault.parse({ ...fault, on: 'all' }))
    for (const option of Fault.options) {
      const kind = option.shape.do.value
      if (OF_READS.includes(kind)) continue
      for (const [key, schema] of Object.entries(option.shape)) {
        const inner: unknown = schema instanceof z.ZodDefault ? schema.unwrap() : schema
        if (!(inner instanceof z.ZodEnum)) continue
        const given = faults.filter((fault) => fault.do === kind).map((fault) => Object(fault)[key])
        expect([...new Set(given)].sort(), `${kind}.${key}`).toEqual([...inner.options].sort())
      }
    }
  })

  it('has every write of the client, and every call that writes', () => {
    const searches = ['medicalRecords.search', 'medicalRecords.requests']
    // The same call as `createBulk`, with text that is there already.
    const changing = DOCUMENTED_CALLS.filter(
      ({ method, name }) => method !== 'GET' && !searches.includes(name) && !name.endsWith('.sendBulk'),
    )
    expect(WRITES.map(({ name }) => name).sort()).toEqual(changing.map(({ name }) => name).sort())
    const endpoints = new Set(WRITES.map(({ endpoint }) => endpoint))
    const writes = targetsOf('refuse', ['writes'])
    expect([...endpoints].sort()).toEqual([...writes].sort())
    expect([...writes, ...targetsOf('refuse', ['reads'])].sort()).toEqual([...ENDPOINT_NAMES].sort())
  })
})
