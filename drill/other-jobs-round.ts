/**
 * A round with jobs of the other kinds, killed and started again: in the end every person is registered, every request stands as it was said last,
 * every PDF is there byte for byte, every test is finished, every care team is as it was listed last, and each collection is whole and has each person once.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { startReferenceGateway } from '../packages/reference-gateway/src/server.ts'
import { hostKeyFingerprint, startSftpServer, USER } from '../test/extract/sources/sftp-server.ts'
import { DONE, RESUMABLE, unexpected } from './nightly-round.ts'
import {
  jobsOf,
  lastSaid,
  lastTeam,
  MAPPINGS,
  type OtherJobsPlan,
  papersText,
  pdfOf,
  planOtherJobs,
  requestsText,
  rosterText,
  teamsText,
} from './other-jobs.ts'
import { answerInApp, judgeTests } from './paper-tests.ts'
import type { RoundEnd } from './round.ts'
import { WATCHED } from './round-plan.ts'
import { createScene, type Ending, type Scene } from './scene.ts'
import { readReceipts } from './statements.ts'
import type { Wrong } from './verdict.ts'

const JOBS = ['roster', 'papers', 'requests', 'teams', 'collect'] as const
/** More processes than this, and the job does not end by itself. */
const MOST_PROCESSES = 14

/** @param mappings a folder with the catalog */
export async function runOtherJobs(
  seed: number,
  round: number,
  folder: string,
  mappings: string,
  watched: string,
): Promise<RoundEnd> {
  const plan = planOtherJobs(seed, round, WATCHED)
  await rm(folder, { recursive: true, force: true })
  for (const name of ['jobs', ...JOBS, 'authorizations', 'collected'])
    await mkdir(join(folder, name), { recursive: true })
  const sftp = plan.cuts && (await startCuttingServer(folder, plan.cuts))
  for (const [name, text] of Object.entries(jobsOf(plan, sftp?.to ?? '{ folder: ../collected }')))
    await writeFile(join(folder, 'jobs', `${name}.yaml`), text)
  // Beside the catalog of all rounds: another round may be about to read what is written here.
  const own = join(folder, 'mappings')
  await mkdir(own)
  await symlink(join(mappings, 'catalog'), join(own, 'catalog'))
  for (const [name, text] of Object.entries(MAPPINGS)) await writeFile(join(own, `${name}.yaml`), text)
  await writeFile(join(folder, 'roster/roster.csv'), rosterText(plan))
  const data = join(folder, 'gateway.sqlite')
  const tokenOwners = Object.fromEntries(
    plan.people.map((reference) => [`token-${reference}`, { reference, type: 'partnerAccountId' as const }]),
  )
  const gateway = await startReferenceGateway({
    ...{ dataFile: data, tokenOwners },
    ...{ clock: Date.now, makeId: randomUUID },
  })
  const scene = createScene({ folder, mappings: own, gateway, watched, shipped: false, pace: WATCHED })
  const found: [Wrong, string][] = []
  const blame = (wrong: Wrong, words: string): void => void found.push([wrong, words])
  try {
    await scene.setFaults(plan.faults, plan.faultSeed)
    for (let night = 1; night <= plan.nights; night++) {
      await deliver(plan, folder, night)
      await answerInApp(plan, night, 'before', data, gateway.url)
      const inApp = async (): Promise<void> => answerInApp(plan, night, 'after-kill', data, gateway.url)
      for (const job of JOBS)
        await untilDone(scene, job, plan.endings(), blame, job === 'papers' ? inApp : undefined)
    }
    await scene.setFaults([], 0)
    for (const job of JOBS) await untilDone(scene, job, [], blame)
    await scene.searchHome()
    await judgeGateway(plan, data, gateway.url, blame)
    judgeTests(plan, data, await readReceipts(scene.home), blame)
    await judgeTeams(plan, gateway.url, blame)
    await judgeCollections(plan, join(folder, 'collected'), blame)
  } catch (error) {
    blame('stuck', error instanceof Error ? error.message : String(error))
  } finally {
    await gateway.close()
    await sftp?.server.stop()
  }
  for (const words of scene.complaints) blame('words', words)
  const { processes, kills, passed, struck } = scene
  const of = (wrong: Wrong): number => found.filter(([one]) => one === wrong).length
  const teams = plan.people.reduce((sum, person) => sum + lastTeam(plan, person).length, 0)
  const expected = plan.people.length + plan.requests.length + plan.papers.size + teams
  if (found.length === 0) await rm(folder, { recursive: true })
  return {
    ...{ round, theme: 'other-jobs', folder, processes, kills, passed, struck },
    faults: found.map(([wrong, words]) => `${wrong}: ${words}`),
    counts: {
      ...{ expected, stored: expected - of('lost'), refused: 0, inDoubt: 0 },
      ...{ lost: of('lost'), doubled: of('doubled'), altered: of('altered') },
      ...{ marks: of('marks'), words: of('words'), stuck: of('stuck') },
    },
  }
}

/** Takes what is put into `collected` of the folder. */
async function startCuttingServer(folder: string, cuts: readonly number[]) {
  const server = await startSftpServer(folder)
  let writes = 0
  server.onWrite = (_path, _offset, cut) => {
    if (cuts.includes(++writes)) cut()
  }
  const { port, hostKey } = server
  await writeFile(join(folder, 'id'), server.userKey, { mode: 0o600 })
  const to = `{ sftp: { host: 127.0.0.1, port: ${port}, user: ${USER}, folder: collected, keyFile: ../id, hostKey: "${hostKeyFingerprint(hostKey)}" } }`
  return { server, to }
}

async function deliver(plan: OtherJobsPlan, folder: string, night: number): Promise<void> {
  await writeFile(join(folder, `papers/papers_${night}.csv`), papersText(plan, night))
  await writeFile(join(folder, `teams/teams_${night}.csv`), teamsText(plan, night))
  await writeFile(join(folder, `requests/requests_${night}.csv`), requestsText(plan, night))
  for (const { reference, authorizedFrom } of plan.requests)
    if (authorizedFrom === night)
      await writeFile(join(folder, 'authorizations', `${reference}.pdf`), pdfOf(reference))
}

type Blame = (wrong: Wrong, words: string) => void

const Summary = z.looseObject({ run: z.string(), balanced: z.boolean() })

/** @throws Error where it never ends by itself */
async function untilDone(
  scene: Scene,
  job: string,
  endings: readonly Ending[],
  blame: Blame,
  onKilled?: () => Promise<void>,
): Promise<void> {
  for (let nth = 0; nth < MOST_PROCESSES; nth++) {
    const ended = await scene.start(['run', job, '--json'], { ending: endings[nth] }).end()
    if (ended === undefined) {
      await onKilled?.()
      continue
    }
    if (DONE.has(ended.code) && ended.out !== '') {
      const { run, balanced } = Summary.parse(JSON.parse(ended.out))
      if (!balanced) blame('words', `run ${run} of ${job} is not balanced`)
      return
    }
    // A file of a night in which nobody has filled in anything has no rows.
    if (/"export-empty"/.test(ended.out)) return
    if (!RESUMABLE.has(ended.code)) throw unexpected(ended)
  }
  throw new Error(`after ${MOST_PROCESSES} processes the job ${job} is not done`)
}

const Held = z.looseObject({ provider: z.looseObject({ phone: z.string().optional() }) })

async function judgeGateway(plan: OtherJobsPlan, data: string, url: string, blame: Blame): Promise<void> {
  const database = new DatabaseSync(data, { readOnly: true })
  try {
    const accounts = database.prepare('select partner_account_id as id from accounts').all()
    const registered = accounts.map(({ id }) => String(id))
    for (const person of plan.people)
      if (!registered.includes(person)) blame('lost', `${person} is not registered`)
    if (new Set(registered).size !== registered.length) blame('doubled', 'a person is registered twice')
    const rows = database
      .prepare(
        'select reference_number as reference, body, authorization as pdf from medical_records_requests',
      )
      .all()
    const held = new Map(rows.map((row) => [String(row['reference']), row]))
    for (const request of plan.requests) {
      const { reference, authorizedFrom } = request
      const said = lastSaid(request, plan.nights)
      const row = held.get(reference)
      held.delete(reference)
      if (said === undefined || said.isWithdrawn) {
        if (row !== undefined) blame('altered', `${reference} is withdrawn, and stands`)
        continue
      }
      if (row === undefined) {
        blame('lost', `${reference} does not stand`)
        continue
      }
      const { phone } = Held.parse(JSON.parse(String(row['body']))).provider
      if (phone !== said.phone) blame('altered', `${reference} has the telephone ${phone}, not ${said.phone}`)
      const pdf = row['pdf'] instanceof Uint8Array ? Buffer.from(row['pdf']) : undefined
      if (authorizedFrom === undefined && pdf !== undefined)
        blame('altered', `${reference} has a PDF of nobody's`)
      if (authorizedFrom !== undefined && pdf?.equals(pdfOf(reference)) !== true)
        blame(pdf === undefined ? 'lost' : 'altered', `the PDF of ${reference}`)
    }
    for (const reference of held.keys()) blame('doubled', `${reference} was never asked for`)
  } finally {
    database.close()
  }
  for (const person of plan.papers.keys()) {
    const query = new URLSearchParams({ accountReference: person, accountReferenceType: 'partnerAccountId' })
    const answer = await fetch(`${url}/bioage/result?${query}`, { headers: { 'x-api-key': 'drill' } })
    const text = await answer.text()
    if (!answer.ok || !text.includes('"COMPLETE"')) blame('lost', `the test of ${person} is not finished`)
  }
}

const Team = z.object({ data: z.array(z.looseObject({ npi: z.string(), pcp: z.boolean().optional() })) })

async function judgeTeams(plan: OtherJobsPlan, url: string, blame: Blame): Promise<void> {
  for (const person of plan.people) {
    const query = new URLSearchParams({ accountReference: person, accountReferenceType: 'partnerAccountId' })
    const headers = { 'x-api-key': 'drill', authorization: 'Bearer drill' }
    const answer = await fetch(`${url}/health-profile/care-teams?${query}`, { headers })
    const { data } = Team.parse(await answer.json())
    const there = data.map(({ npi }) => npi)
    const wanted = lastTeam(plan, person)
    for (const npi of wanted) if (!there.includes(npi)) blame('lost', `${npi} of ${person} is not there`)
    for (const npi of there)
      if (!wanted.includes(npi)) blame('altered', `${npi} of ${person} is listed no more, and stands`)
    if (new Set(there).size !== there.length) blame('doubled', `an entry of ${person}`)
    const marked = data.filter(({ pcp }) => pcp === true).map(({ npi }) => npi)
    if (marked.join() !== wanted.slice(0, 1).join()) blame('marks', `${marked.join()} of ${person}`)
  }
}

const Manifest = z.looseObject({
  people: z.record(z.string(), z.int()),
  files: z.array(z.looseObject({ name: z.string(), lines: z.int(), sha256: z.string() })),
})
const Line = z.looseObject({
  account: z.looseObject({ reference: z.string() }),
  ageResult: z.array(z.unknown()),
  requestStatus: z.array(z.looseObject({ referenceNumber: z.string() })),
})

/** Whole or not there, each person once; the last one says what stands in the end. */
async function judgeCollections(plan: OtherJobsPlan, folder: string, blame: Blame): Promise<void> {
  const names = (await readdir(folder)).sort()
  for (const name of names.filter((one) => one.endsWith('.part'))) blame('words', `${name} is left over`)
  for (const name of names.filter((one) => !one.endsWith('.part'))) {
    const manifest = Manifest.parse(JSON.parse(await readFile(join(folder, name, 'manifest.json'), 'utf8')))
    const listed = ['manifest.json', ...manifest.files.map((one) => one.name)].sort()
    const there = (await readdir(join(folder, name))).sort()
    if (there.join() !== listed.join()) blame('words', `${name} holds ${there.join()}`)
    const { asked = 0, collected = 0, none = 0, refused = 0, unchanged = 0 } = manifest.people
    if (asked !== plan.people.length) blame('words', `${name}: ${asked} people were asked about`)
    if (asked !== collected + none + refused + unchanged)
      blame('words', `${name}: the people are not in balance`)
    for (const { name: file, lines, sha256 } of manifest.files) {
      const bytes = await readFile(join(folder, name, file))
      if (createHash('sha256').update(bytes).digest('hex') !== sha256) blame('altered', `${name}/${file}`)
      const people = bytes
        .toString()
        .split('\n')
        .filter(Boolean)
        .map((line) => Line.parse(JSON.parse(line)))
      if (people.length !== lines || lines !== collected)
        blame('words', `${name}/${file} has ${people.length} lines`)
      const references = people.map(({ account }) => account.reference)
      if (new Set(references).size !== references.length) blame('doubled', `a person stands twice in ${name}`)
      if (name !== names.at(-1)) continue
      const own = new Map(people.map((one) => [one.account.reference, one]))
      for (const person of plan.people) {
        const standing = plan.requests.filter(
          (one) => one.person === person && lastSaid(one, plan.nights)?.isWithdrawn === false,
        )
        const said = own.get(person)?.requestStatus.map(({ referenceNumber }) => referenceNumber) ?? []
        if (
          said.toSorted().join() !==
          standing
            .map(({ reference }) => reference)
            .toSorted()
            .join()
        )
          blame('lost', `requests of ${person} in the collection: ${said.join()}`)
        if ((own.get(person)?.ageResult.length ?? 0) !== (plan.papers.has(person) ? 1 : 0))
          blame('lost', `the age result of ${person} in the collection`)
      }
    }
  }
}
