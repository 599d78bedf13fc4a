/** Cases tried once on a gateway, and then again on its recorded answers, one of them altered at a time: shows the answers that a case judges. */
import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import { type Account, type ConformanceCase, type Control, NothingToJudge } from '../src/case.ts'
import type { Answer, Client, Sent } from '../src/client.ts'
import { runCase } from '../src/suite.ts'

interface Call {
  readonly method: string
  readonly path: string
  readonly sent: Sent
  readonly answer: Answer
}

/** A case with all that its gateway gave it. */
export interface Recorded {
  readonly one: ConformanceCase
  readonly calls: readonly Call[]
  readonly names: readonly string[]
  readonly tokens: readonly string[]
}

/** Runs a case, and records its calls. */
export async function recorded(
  one: ConformanceCase,
  client: Client,
  account: Account,
  control: Control,
): Promise<Recorded> {
  const calls: Promise<Call>[] = []
  const [names, tokens]: [string[], string[]] = [[], []]
  const taken = (method: string, path: string, sent: Sent, answer: Promise<Answer>): Promise<Answer> => {
    calls.push(answer.then((came) => ({ method, path, sent, answer: came })))
    return answer
  }
  const noting: Client = {
    careTeamsPath: client.careTeamsPath,
    send: (method, path, sent = {}) => taken(method, path, sent, client.send(method, path, sent)),
    upload: (address, pdf) => taken('PUT', 'authorizationUploadUrl', {}, client.upload(address, pdf)),
    unique(what) {
      const name = client.unique(what)
      names.push(name)
      return name
    },
  }
  await runCase(one, noting, account, {
    async tokenOf(owner) {
      const token = await control.tokenOf(owner)
      tokens.push(token)
      return token
    },
    passTime: (ms) => control.passTime(ms),
  })
  return { one, calls: await Promise.all(calls), names, tokens }
}

/** Words of the finding about a case with other answers than the recorded ones; undefined if the case passes. */
async function findingOf(
  { one, names, tokens }: Recorded,
  answers: readonly Answer[],
  account: Account,
): Promise<string | undefined> {
  const [left, leftNames, leftTokens] = [[...answers], [...names], [...tokens]]
  const next = async (): Promise<Answer> => {
    const answer = left.shift()
    if (answer === undefined) throw new AssertionError({ message: 'another call than those recorded' })
    return answer
  }
  const client: Client = {
    careTeamsPath: '/health-profile/care-teams',
    send: next,
    upload: next,
    unique: (what) => leftNames.shift() ?? what,
  }
  const control = { tokenOf: async () => leftTokens.shift() ?? 'token', passTime: async () => {} }
  try {
    await runCase(one, client, account, control)
    return undefined
  } catch (finding) {
    if (finding instanceof AssertionError || finding instanceof NothingToJudge) return finding.message
    throw finding
  }
}

const STATUSES = [200, 201, 202, 204, 205, 300, 400, 401, 403, 404, 409, 422, 499, 500]

/** The length of a list, as a leaf. */
const LENGTH = '#'

/** Paths to the leaves of an answer; of a list, its length, and the leaves of its first and its last item. */
function leavesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path]
  const keys = Object.keys(value)
  const shown = Array.isArray(value) && keys.length > 2 ? [keys.at(0), keys.at(-1)] : keys
  if (shown.length === 0) return path.length === 0 ? [] : [path]
  const leaves = shown.flatMap((key) =>
    key === undefined ? [] : leavesOf(Reflect.get(value, key), [...path, key]),
  )
  return Array.isArray(value) ? [[...path, LENGTH], ...leaves] : leaves
}

/** The value with another leaf, or without it. */
function without(
  value: unknown,
  [key = '', ...rest]: readonly string[],
  other?: (leaf: unknown) => unknown,
): unknown {
  if (Array.isArray(value)) {
    if (key === LENGTH) return other === undefined ? value.slice(0, -1) : [...value, ...value.slice(-1)]
    const at = Number(key)
    if (rest.length === 0 && other === undefined) return value.toSpliced(at, 1)
    return value.with(at, rest.length === 0 ? other?.(value[at]) : without(value[at], rest, other))
  }
  const { [key]: leaf, ...others } = value as Readonly<Record<string, unknown>>
  if (rest.length > 0) return { ...others, [key]: without(leaf, rest, other) }
  return other === undefined ? others : { ...others, [key]: other(leaf) }
}

/** Another value of the same form. */
function otherLeaf(leaf: unknown): unknown {
  if (typeof leaf === 'string')
    return /^-?\d/.test(leaf) ? leaf.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)) : `${leaf}x`
  if (typeof leaf === 'number') return leaf + 1
  return typeof leaf === 'boolean' ? !leaf : 'another'
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Alters each answer of a case, one at a time.
 *
 * @returns for each call, as text: its statuses that the case takes, the members of the answer that the case needs, and, with `=`, those whose
 * values count
 */
export async function judgedBy(one: Recorded, account: Account): Promise<string[]> {
  const findingWith = findingsOf(one, account)
  const taken = async (at: number, other: Partial<Answer>): Promise<boolean> =>
    (await findingWith(at, other)) === undefined
  if (!(await taken(0, {}))) throw new Error(`${one.one.row} is not the same on its recorded answers`)
  const judged: string[] = []
  // A finding looks for its own stack, which costs more than its case.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  for (const [at, { method, path, sent, answer }] of one.calls.entries()) {
    const statuses: number[] = []
    for (const status of STATUSES) if (await taken(at, { status })) statuses.push(status)
    const members = await membersJudged(jsonIn(answer.text), (text) => taken(at, { text }))
    // A refusal that a case also takes as a success: the members that it then needs.
    const isEither = answer.status >= 400 && statuses.includes(200) && statuses.length < STATUSES.length
    const ofSuccess = isEither
      ? await membersJudged(jsonIn(answer.text), (text) => taken(at, { status: 200, text }))
      : []
    const any = statuses.length === STATUSES.length ? ['any status'] : statuses
    const words = [...any, ...members, ...ofSuccess.map((member) => `200:${member}`)]
    judged.push(`${method} ${path}${sentText(sent)} -> ${words.join(' ')}`)
  }
  Error.stackTraceLimit = stackTraceLimit
  return judged
}

const findingsOf = (one: Recorded, account: Account) => {
  const answers = one.calls.map(({ answer }) => answer)
  return (at: number, other: Partial<Answer>): Promise<string | undefined> => {
    const answer = answers[at]
    return findingOf(one, answer === undefined ? answers : answers.with(at, { ...answer, ...other }), account)
  }
}

/**
 * Takes each leaf whose value counts out of its answer, alone. A finding then names what came: nothing, or a list, an object or a count that
 * lacks the leaf.
 *
 * @returns findings that name a value of the kind of the leaf instead, as if the expected one had come
 */
export async function misnamed(one: Recorded, account: Account): Promise<string[]> {
  const findingWith = findingsOf(one, account)
  const found: string[] = []
  for (const [at, { answer }] of one.calls.entries()) {
    const body = jsonIn(answer.text)
    const compared = await comparedIn(body, async (text) => (await findingWith(at, { text })) === undefined)
    for (const leaf of compared) {
      if (leaf.at(-1) === LENGTH) continue
      const words = await findingWith(at, { text: JSON.stringify(without(body, leaf)) })
      if (words?.endsWith(`got a ${typeof leafAt(body, leaf)} that differs from the expected value`))
        found.push(`without ${nameOf(leaf)}: ${words}`)
    }
  }
  return found
}

const leafAt = (value: unknown, leaf: Leaf): unknown =>
  leaf.reduce<unknown>((found, key) => Reflect.get(Object(found), key), value)

type Leaf = readonly string[]

/** Leaves whose values count. */
async function comparedIn(body: unknown, isTaken: (text: string) => Promise<boolean>): Promise<Leaf[]> {
  const isOther = (leaf: Leaf): boolean => !isDeepStrictEqual(without(body, leaf, otherLeaf), body)
  return judgedOf(leavesOf(body).filter(isOther), async (some) =>
    isTaken(JSON.stringify(some.reduce((value, leaf) => without(value, leaf, otherLeaf), body))),
  )
}

async function membersJudged(body: unknown, isTaken: (text: string) => Promise<boolean>): Promise<string[]> {
  const members = new Set((await comparedIn(body, isTaken)).map((leaf) => `${nameOf(leaf)}=`))
  const rest = leavesOf(body).filter((leaf) => !members.has(`${nameOf(leaf)}=`))
  // From the last one on: the places of those in front stay.
  const needed = await judgedOf(rest, async (some) =>
    isTaken(JSON.stringify(some.reduceRight<unknown>((value, leaf) => without(value, leaf), body))),
  )
  for (const leaf of needed) members.add(nameOf(leaf))
  return [...members].sort()
}

const nameOf = (leaf: Leaf): string => leaf.map((key) => (/^\d+$/.test(key) ? '*' : key)).join('.')

/** The leaves that count, found by halves: most do not. */
async function judgedOf(
  leaves: readonly Leaf[],
  isTaken: (some: readonly Leaf[]) => Promise<boolean>,
): Promise<Leaf[]> {
  if (leaves.length === 0 || (await isTaken(leaves))) return []
  if (leaves.length === 1) return [...leaves]
  const half = Math.ceil(leaves.length / 2)
  return [
    ...(await judgedOf(leaves.slice(0, half), isTaken)),
    ...(await judgedOf(leaves.slice(half), isTaken)),
  ]
}

const keysOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? Object.keys(value).sort().join(' ') : String(value)

/** Names of what is sent with a call. */
function sentText({ json, query, headers, without: left }: Sent): string {
  const parts = [
    ...(query === undefined ? [] : [`?${keysOf(query)}`]),
    ...(json === undefined
      ? []
      : Array.isArray(json)
        ? [`[${json.map(keysOf).join('; ')}]`]
        : [`{${keysOf(json)}}`]),
    ...(headers === undefined ? [] : [`with ${keysOf(headers)}`]),
    ...(left === undefined ? [] : [`without ${left.join(' ')}`]),
  ]
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`
}
