/**
 * A gateway that does next to nothing, in a process of its own, so that what is measured is the loader: it takes bulk records, people, care
 * teams and marks, and answers at once. It looks at each record just enough to tell what it holds.
 *
 *     node bench/load/lean-gateway.ts '{"echo":"full","latencyMs":0}'
 *
 * It prints its address, and ends with its parent. `GET /_held` tells what it holds and what came; `DELETE /_held` forgets it.
 */
import { hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { addRecord, type Held, nothingHeld } from './held.ts'

export interface LeanOptions {
  /** `full`: records come back as they were sent; `least`: their ids alone. */
  readonly echo: 'full' | 'least'
  /** Before each answer. */
  readonly latencyMs?: number
  /** Requests that it takes in a second; 429 above. */
  readonly perSecond?: number
  /** One record in so many is refused, and with it the batch in which it comes. */
  readonly refusesOneIn?: number
  /** Its refusal says that something is wrong, and not which record it is about. */
  readonly namesNobody?: boolean
  /** Records that a read of biometrics shows of everybody. */
  readonly shows?: number
  /** File into which the bulk bodies go as they come, a line each: path, a blank, the body. */
  readonly keepBodiesIn?: string
}

/** What came since it was forgotten last. */
export interface LeanReport {
  readonly held: Held
  readonly people: number
  readonly careTeams: number
  readonly marks: number
  readonly requests: number
  /** Answered with 429. */
  readonly heldBack: number
  /** Milliseconds from the first request with records to the end of the last. */
  readonly sendingMs: number
  /** Requests under way at once, at most. */
  readonly most: number
  /** Processor time of the gateway, in seconds. */
  readonly processorS: number
  /** Begin and end of each request, by access token. */
  readonly spans: readonly Span[]
}

export type Span = readonly [token: string, beganAt: number, endedAt: number]

const options = JSON.parse(process.argv[2] ?? '{}') as LeanOptions

const fresh = () => ({
  ...{ held: nothingHeld(), people: 0, careTeams: 0, marks: 0, requests: 0, heldBack: 0 },
  ...{ firstAt: 0, lastAt: 0, underWay: 0, most: 0, second: 0, taken: 0 },
  teams: new Map<string, object[]>(),
  spans: [] as Span[],
})
let state = fresh()
const bodies = options.keepBodiesIn === undefined ? undefined : createWriteStream(options.keepBodiesIn)

const kept = new Set<string>()

/** Once, however often it comes. */
function keep(path: string, text: string): void {
  if (bodies === undefined) return
  const digest = hash('sha256', text)
  if (kept.has(digest)) return
  kept.add(digest)
  bodies.write(`${path} ${text}\n`)
}

const RECORD =
  /"transactionId":"([^"]+)","account":\{"reference":"([^"]+)".*?"observationDate":"?([^",]+)"?,.*?"code":"([^"]+)".*?"source"/g
const VALUE = /"value":(-?[\d.]+)/
/** Knows a refused one by its text, so that it is refused each time. */
const isRefused = (person: string, code: string): boolean => {
  if (options.refusesOneIn === undefined) return false
  const one = nothingHeld()
  addRecord(one, person, code, '', 0)
  return one.high % options.refusesOneIn === 0
}

function takeRecords(path: string, text: string): { status: number; body: string } {
  const records: { id: string; person: string; code: string; instant: string; value: number }[] = []
  for (const [all, id = '', person = '', instant = '', code = ''] of text.matchAll(RECORD))
    records.push({ id, person, code, instant, value: Number(VALUE.exec(all)?.[1]) })
  const at = records.findIndex(({ person, code }) => isRefused(person, code))
  if (at >= 0)
    return {
      status: 422,
      body: JSON.stringify({
        code: '422',
        message: options.namesNobody ? 'a value is out of range' : `data[${at}].value: is out of range`,
        data: [],
        errors: [],
      }),
    }
  for (const { person, code, instant, value } of records) addRecord(state.held, person, code, instant, value)
  if (path.endsWith('/biometrics/bulk')) {
    const data =
      options.echo === 'full' ? text : `[${records.map(({ id }) => `{"transactionId":"${id}"}`).join(',')}]`
    return { status: 201, body: `{"code":201,"message":"201 CREATED","data":${data},"errors":[]}` }
  }
  let next = state.held.records
  const data =
    options.echo === 'full'
      ? text
          .replace(/\{"transactionId":"[^"]+",/g, () => `{"id":"c${next++}",`)
          .replace(/"observationDate":(\d+)/g, '"observationDate":"$1"')
      : `[${records.map(({ id }) => `{"id":"c${next++}","source":{"meta":{"persistentRecordId":"${id}"}}}`).join(',')}]`
  return { status: 200, body: `{"code":"200","message":"200 OK","data":${data},"errors":[]}` }
}

interface Sent {
  readonly account: { readonly reference: string }
  readonly npi?: string
}

function answerOf(method: string, url: URL, text: string): { status: number; body: string } {
  const path = url.pathname
  const of = (data: unknown) => ({
    status: 200,
    body: JSON.stringify({ code: '200', message: '200 OK', data, errors: [] }),
  })
  if (method === 'POST' && path.endsWith('/bulk')) {
    keep(path, text)
    return takeRecords(path, text)
  }
  if (path.endsWith('/account/register')) {
    state.people++
    const { partnerAccountId } = JSON.parse(text) as { partnerAccountId: string }
    return { status: 200, body: JSON.stringify({ accountId: `a-${partnerAccountId}`, partnerAccountId }) }
  }
  if (path.endsWith('/care-teams/pcp')) {
    if (method === 'POST') state.marks++
    return of([{ npi: (JSON.parse(text) as Sent).npi }])
  }
  if (path.endsWith('/care-teams') && method === 'POST') {
    const entries = (JSON.parse(text) as Sent[]).map(({ account, ...entry }) => {
      const stored = { id: `t${++state.careTeams}`, userId: `a-${account.reference}`, pcp: false, ...entry }
      state.teams.set(account.reference, [...(state.teams.get(account.reference) ?? []), stored])
      return stored
    })
    return of(entries)
  }
  if (path.endsWith('/care-teams'))
    return of(state.teams.get(url.searchParams.get('accountReference') ?? '') ?? [])
  if (path.endsWith('/biometrics') && options.shows !== undefined)
    return { status: 200, body: profileOf(url.searchParams.get('accountReference') ?? '') }
  // Conditions are read in an envelope within an envelope.
  return of(path.endsWith('/conditions') ? { code: '200', message: '200 OK', data: [], errors: [] } : [])
}

const RECORDS_SHOWN = Array.from({ length: options.shows ?? 0 }, (_, at) =>
  JSON.stringify({
    ...{ id: `b${at}`, created: '1767225600000', updated: '1767225600000', name: `Measurement ${at}` },
    ...{ observationDate: '1767225600000', value: 60 + at, unit: 'mm[Hg]' },
    codes: [{ code: `${8000 + at}-6`, codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }],
    source: { name: 'Acme Onsite Screening', type: 'screening', meta: { sendingSystem: 'acme' } },
    accountReference: { type: 'accountId', reference: 'PERSON' },
  }),
).join(',')

const profileOf = (person: string): string =>
  `{"code":"200","message":"200 OK","data":[${RECORDS_SHOWN.replaceAll('"PERSON"', () => JSON.stringify(`a-${person}`))}],"errors":[]}`

/** Whether this second has had as many requests as it may. */
function isTooMuch(now: number): boolean {
  const second = Math.floor(now / 1000)
  if (second !== state.second) Object.assign(state, { second, taken: 0 })
  return options.perSecond !== undefined && ++state.taken > options.perSecond
}

const SILENT = { 'content-type': 'application/json' }

const processorS = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function report(): LeanReport {
  const { held, people, careTeams, marks, requests, heldBack, firstAt, lastAt, most, spans } = state
  return {
    held,
    people,
    careTeams,
    marks,
    requests,
    heldBack,
    most,
    spans,
    processorS: processorS(),
    sendingMs: lastAt - firstAt,
  }
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost')
  if (url.pathname === '/_held') {
    if (request.method === 'DELETE') state = fresh()
    response.writeHead(200, SILENT).end(JSON.stringify(report()))
    return
  }
  state.requests++
  state.most = Math.max(state.most, ++state.underWay)
  const began = Date.now()
  state.firstAt ||= performance.now()
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const isHeldBack = isTooMuch(performance.now())
    if (isHeldBack) state.heldBack++
    const { status, body } = isHeldBack
      ? { status: 429, body: '{"code":"429","message":"429 TOO MANY REQUESTS"}' }
      : answerOf(request.method ?? 'GET', url, Buffer.concat(parts).toString('utf8'))
    const end = (): void => {
      state.underWay--
      state.lastAt = performance.now()
      state.spans.push([String(request.headers.authorization), began, Date.now()])
      response.writeHead(status, { ...SILENT, ...(isHeldBack ? { 'retry-after': '1' } : {}) }).end(body)
    }
    if (options.latencyMs) setTimeout(end, options.latencyMs)
    else end()
  })
}

const server = createServer({ keepAliveTimeout: 60_000 }, answer)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.stdin.resume().on('end', () => process.exit())
