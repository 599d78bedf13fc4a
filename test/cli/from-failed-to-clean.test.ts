/** A night that went wrong in four ways at once, put right by the commands that `show` tells, typed as they stand. */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Clinic, openClinic } from './clinic.ts'
import { type Ended, Summary } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  heart-rate: pulse
  body-weight: { from: weight, unit: { from: unit } }
conditions:
  type-2-diabetes: { when: { diabetes: Y }, status: active }
`
const JOB = `exports: { from: ../inbox, match: "clinic *.csv", mapping: clinic }
accounts: { register: never }
submit: { readLag: 100ms, concurrency: 1 }
`
/** Its name is one that a shell would take apart. */
const EXPORT = "clinic Ann's 2026-03-02.csv"
const ROWS = `id,day,pulse,weight,unit,diabetes
ann,2026-03-02,61,70.5,kg,Y
ben,2026-03-02,62,71.5,kg,Y
cid,2026-03-02,63,160,livres,N
dan,2026-03-32,64,73.5,kg,N
eve,2026-03-02,65,74.5,kg,N
fay,2026-03-02,66,170,livres,N
`

test('from a failed run to a clean balance by the commands that show suggests', async () => {
  const store = await startReferenceStore()
  const clinic = await openClinic({
    store,
    mapping: MAPPING,
    job: JOB,
    environment: { WAYBILL_KEY: 'a key that stays the same' },
  })
  for (const person of ['ann', 'ben', 'cid', 'dan', 'fay']) await register(store.url, person)
  await clinic.deliver(EXPORT, ROWS)
  const { type } = atTheKeyboard(clinic, store.url)

  // The conditions are stored, the answer is lost, and no profile can be read: nobody can tell.
  await putFaults(store.url, [
    { on: 'createConditionsBulk', do: 'store-then-reset' },
    { on: 'readConditions', do: 'refuse', status: 400 },
  ])
  expect((await type('waybill run clinic')).code).toBe(1)
  await call(store.url, 'DELETE', '/_reference/faults')
  await type('waybill runs')
  const failed = (await type('waybill show')).out
  const show = `waybill show ${/^Run (\S+) of clinic/m.exec(failed)?.[1]}`

  // The vendor has begun to weigh in pounds, and says so in French.
  const mapping = typedAs(failed, 'If the mapping is at fault')
  const taught = MAPPING.replace('{ from: unit }', '{ from: unit, table: { kg: kg, livres: "[lb_av]" } }')
  await writeFile(join(clinic.workplace.folder, 'mappings/clinic.yaml'), taught)
  for (const line of mapping) await type(line)

  // The rejects file is corrected where the clinic knows better: the 32nd was the 2nd.
  const data = typedAs((await type(show)).out, 'If the data are at fault')
  for (const line of data) {
    const file = argumentsOf(line).at(-1) ?? ''
    const text = await readFile(join(clinic.workplace.folder, file), 'utf8')
    await writeFile(join(clinic.workplace.folder, file), text.replace('2026-03-32', '2026-03-02'))
    await type(line)
  }

  // Whoever runs the gateway had not heard of Eve.
  const [trace = '', again = ''] = typedAs((await type(show)).out, 'If the gateway is at fault')
  expect((await type(trace)).out).toContain('the account is not registered')
  await register(store.url, 'eve')
  await type(again)

  // The gateway shows Ann's profile, and then none any more.
  await putFaults(store.url, [{ on: 'readConditions', do: 'refuse', status: 400, when: { after: 1 } }])
  const doubtful = (await type(show)).out
  for (const step of ['Or, to look and send nothing', 'To look for the records in doubt'])
    for (const line of typedAs(doubtful, step)) await type(line)
  const undecided = (await type(show)).out
  const [look = '', accept = ''] = typedAs(undecided, 'For records still in doubt')
  expect((await type(look)).out).toContain('-000002-type-2-diabetes-')
  // Whoever runs it looks the id up, and has it.
  const stored = (await store.records('condition')).map(({ transactionId }) => transactionId)
  expect(stored).toContain(argumentsOf(look).at(-1))
  await type(accept)

  const clean = (await type(show)).out
  expect(clean).toContain('Nothing is left to do.')
  expect(clean).not.toContain('    waybill ')
  await type('waybill runs')
  expect((await type('waybill runs --failed')).out).toBe('No run failed or left anything behind.\n')

  const run = Summary.parse(
    JSON.parse((await clinic.workplace.waybill(...argumentsOf(`${show} --json`))).out),
  )
  const rejected = run.rows.rejected + run.records.biometric.rejected
  expect({ rejected, inDoubt: run.records.condition.inDoubt }).toEqual({ rejected: 5, inDoubt: 0 })
  expect(await clinic.stored()).toEqual(
    ['ann', 'ben', 'cid', 'dan', 'eve', 'fay'].flatMap((person, at) => [
      `${person} body-weight ${['70.5', '71.5', '72.6', '73.5', '74.5', '77.1'][at]}`,
      `${person} heart-rate ${61 + at}`,
    ]),
  )
  const diagnoses = (await store.records('condition')).map(({ _account }) => _account)
  expect(diagnoses.sort()).toEqual(['ann', 'ben'])
})

/** Commands under the step that begins so. */
function typedAs(shown: string, step: string): string[] {
  const lines = shown.split('\n')
  const from = lines.findIndex((line) => line.startsWith(`  ${step}`))
  expect(from, step).toBeGreaterThan(0)
  const behind = lines.slice(from + 1)
  const end = behind.findIndex((line) => !line.startsWith('    waybill '))
  const commands = behind.slice(0, end).map((line) => line.trim())
  expect(commands).not.toEqual([])
  return commands
}

/** A line as a shell takes it apart, without the name of the program. */
const argumentsOf = (line: string): string[] =>
  execFileSync('sh', ['-c', `set -- ${line}; shift; printf '%s\\n' "$@"`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')

/** Types commands; what each says is kept as a golden file of its number. */
function atTheKeyboard({ workplace }: Clinic, url: string): { type: (line: string) => Promise<Ended> } {
  const runs: string[] = []
  const named = (id: string): string => {
    if (!runs.includes(id)) runs.push(id)
    return `20260303T021500Z-${String(runs.indexOf(id) + 1).padStart(6, '0')}`
  }
  /** Without what differs from time to time; an id takes as much room as before. */
  const steady = (text: string): string =>
    text
      .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, named)
      .replaceAll(/ by [^:\s]+: (?=accept|resend|give-up)/g, ' by SOMEBODY: ')
      .replaceAll(/(accept|resend|give-up), by \S+/g, '$1, by SOMEBODY')
      .replaceAll(/after \d+\.\d s/g, 'after N s')
      .replaceAll(/since \d{4}-\d\d-\d\d/g, 'since 2026-03-03')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT')
      .replaceAll(/\b\d+ min\b/g, 'N min')
      .replaceAll(url, 'GATEWAY')
  let number = 0
  return {
    async type(line) {
      number += 1
      const ended = await workplace.waybill(...argumentsOf(line))
      const { code, out } = ended
      const words = argumentsOf(line).filter((word) => /^[a-z-]+$/.test(word))
      const name = [String(number).padStart(2, '0'), ...words].join('-').replaceAll(/-+/g, '-')
      const said = `$ ${line}\n${out}exit code ${code}\n`
      await expect(steady(said)).toMatchFileSnapshot(join(import.meta.dirname, `golden/chain/${name}.txt`))
      return ended
    },
  }
}

async function call(url: string, method: string, path: string, body?: unknown): Promise<void> {
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    'X-API-Key': 'test-key',
    Authorization: 'Bearer test-token',
  }
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  })
  expect(answer.ok, `${path}: ${answer.status} ${await answer.text()}`).toBe(true)
}

const putFaults = (url: string, faults: readonly unknown[]): Promise<void> =>
  call(url, 'PUT', '/_reference/faults', { faults })

const register = (url: string, partnerAccountId: string): Promise<void> =>
  call(url, 'POST', '/account/register', {
    partnerAccountId,
    firstName: 'Test',
    lastName: 'Person',
    dateOfBirth: '1980-01-01',
    gender: 'FEMALE',
    postalCode: '04884',
  })
