/** Checks jobs and mappings: each must be readable, and the places of exports and collections must exist. */
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { targetPlace } from '../definitions/collect-definition.ts'
import {
  type DefinitionFolders,
  definitionsIn,
  type Job,
  readDecidedMapping,
  readJob,
  readMapping,
} from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import { assertTellable, chooseGateway, type GatewaySettings } from '../definitions/jobs.ts'
import type { NotifySettings } from '../definitions/notify-definition.ts'
import { waitingLines } from '../extract/arrival/verify-delivery.ts'
import { describePlace, WaybillError } from '../model/errors.ts'
import { type Arrival, type SourceSettings, withPassingArrival } from '../run/arrival.ts'
import { counted } from '../system/shown-text.ts'
import { folderHindrance } from './check-machine.ts'
import { type Check, type CheckFinding, finding, type Level } from './finding.ts'

interface SourceLook {
  readonly sources: SourceSettings
  /** True to check servers, too, not only folders. */
  readonly servers: boolean
  readonly now: number
  /** Path of an export that the latest run of a job has read, by job, where the ledger is not of this machine alone. */
  readonly lastRead: ReadonlyMap<string, string>
  readonly settings: NotifySettings & GatewaySettings
}

export async function checkJobs(folders: DefinitionFolders, look: SourceLook): Promise<CheckFinding[]> {
  const names = (await definitionsIn(folders.jobs)).sort()
  if (names.length === 0)
    return [
      finding(
        'job',
        'warning',
        `no jobs in ${folders.jobs}`,
        'Check WAYBILL_JOBS, or write a job: docs/jobs.md.',
      ),
    ]
  return withPassingArrival(look.sources, async (arrival) => {
    const findings: CheckFinding[] = []
    for (const name of names) findings.push(...(await checkJob(folders, name, arrival, look)))
    return findings
  })
}

async function checkJob(
  folders: DefinitionFolders,
  name: string,
  arrival: Arrival,
  look: SourceLook,
): Promise<CheckFinding[]> {
  return tried('job', name, async () => {
    const job = await readJob(folders, name)
    assertTellable(look.settings, job)
    chooseGateway(look.settings, job)
    const given = job.sources.filter(({ place }) => place.isMade !== true)
    const sources = given.map((source) => () => checkSource(folders, job, source, arrival, look))
    const checks = [...sources, () => checkTarget(job, look)]
    return (await Promise.all(checks.map((check) => tried('job', name, check)))).flat()
  })
}

async function checkSource(
  folders: DefinitionFolders,
  job: Job,
  source: JobSource,
  arrival: Arrival,
  look: SourceLook,
): Promise<CheckFinding[]> {
  await readDecidedMapping(folders, source.mapping, job.catalog)
  const subject = job.definition.job
  const result = (found: string, details: readonly string[] = []): CheckFinding =>
    finding('job', 'ok', `${source.from}/${source.match}: ${found}`, undefined, {
      subject,
      ...(details.length === 0 ? {} : { details }),
    })
  if (source.place.local === undefined && !look.servers) return [result('not checked (--sources checks it)')]
  const { complete, waiting, refused } = await arrival.look(source, look.now)
  const waits = waiting.length === 0 ? '' : `, ${waiting.length} waiting`
  const folder = source.place.local === undefined ? undefined : source.place.shown
  const read = look.lastRead.get(subject)
  if (folder !== undefined && read?.startsWith(folder) && (await readdir(folder)).length === 0) {
    const found = `${folder} is empty, and the latest run has read ${read}`
    const remedy = 'Mount the folder, if it is not mounted on this machine: `findmnt` lists the mounts.'
    return [finding('job', 'warning', found, remedy, { subject })]
  }
  return [
    result(`${counted(complete.length, 'export')} there${waits}`, waitingLines(waiting, source)),
    ...(await checkArchive(source, subject)),
    ...refused.flatMap(({ refused: error }) =>
      error === undefined ? [] : [{ ...problemOf('job', subject, error), level: 'warning' as const }],
    ),
  ]
}

async function checkArchive({ place }: JobSource, subject: string): Promise<CheckFinding[]> {
  const archive = place.local?.archive
  const hindrance = archive === undefined ? undefined : await folderHindrance(archive)
  if (hindrance === undefined) return []
  const found = `exports cannot be moved into the archive ${archive}: ${hindrance}`
  const remedy = 'Correct `archive` in the job, or give this user the right to write there.'
  return [finding('job', 'warning', found, remedy, { subject })]
}

/** Checks the place of a collection on a server. Only a collection can show that the place is writable. */
async function checkTarget({ definition, file }: Job, look: SourceLook): Promise<CheckFinding[]> {
  const place = definition.to && targetPlace(definition.to, dirname(file), '').remote
  if (place === undefined) return []
  const result = (level: Level, found: string): CheckFinding[] => [
    finding('job', level, `collects to ${place.shown}: ${found}`, undefined, { subject: definition.job }),
  ]
  if (!look.servers) return result('ok', 'not checked (--sources checks it)')
  const target = await place.open(look.sources)
  try {
    await target.list(look.sources.signal)
    return result('ok', 'exists')
  } catch (error) {
    if (!(error instanceof WaybillError) || error.code !== 'export-unreadable') throw error
    return result(
      'warning',
      'does not exist yet, or cannot be listed; a collection makes the folder if it has the right',
    )
  } finally {
    await target.close()
  }
}

type TestCases = (name: string) => Promise<{ readonly cases: number; readonly failed: number } | undefined>

export async function checkMappings(
  folders: DefinitionFolders,
  testCases: TestCases,
): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = []
  for (const name of (await definitionsIn(folders.mappings)).sort())
    findings.push(
      ...(await tried('mapping', name, async () => [await checkMapping(folders, name, testCases)])),
    )
  if (findings.length > 0) return findings
  return [
    finding(
      'mapping',
      'warning',
      `no mappings in ${folders.mappings}`,
      'Check WAYBILL_MAPPINGS, or draft one with `waybill mapping init SAMPLE`.',
    ),
  ]
}

async function checkMapping(
  folders: DefinitionFolders,
  name: string,
  testCases: TestCases,
): Promise<CheckFinding> {
  const result = (level: Level, found: string, remedy?: string): CheckFinding =>
    finding('mapping', level, `well-formed; ${found}`, remedy, { subject: name })
  const { undecided } = await readMapping(folders, name)
  if (undecided.length > 0) {
    const found = `a draft with open decisions on line ${undecided.join(', ')}: no job runs with it`
    return result('warning', found, `waybill mapping check ${name}`)
  }
  const tested = await testCases(name)
  if (tested === undefined) return result('ok', 'no cases')
  const { cases, failed } = tested
  if (failed === 0) return result('ok', counted(cases, 'case passes', 'cases pass'))
  const found = `${failed} of ${counted(cases, 'case')} ${failed === 1 ? 'fails' : 'fail'}`
  return result('problem', found, `waybill mapping test ${name}`)
}

/** Runs a check. An error becomes a finding, so that the other checks continue. */
async function tried(
  check: Check,
  subject: string,
  look: () => Promise<CheckFinding[]>,
): Promise<CheckFinding[]> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof WaybillError) || error.code === 'interrupted') throw error
    return [problemOf(check, subject, error)]
  }
}

function problemOf(check: Check, subject: string, error: WaybillError): CheckFinding {
  const where = error.place === undefined ? '' : ` (${describePlace(error.place)})`
  const found = `${error.code}: ${error.message}${error.message.includes(where.slice(2, -1)) ? '' : where}`
  const details = error.findings.map(({ place, message }) => `${describePlace(place)}: ${message}`)
  return finding(check, 'problem', found, error.remedy, {
    subject,
    ...(details.length === 0 ? {} : { details }),
  })
}
