/** Daily digest: failures since the last digest, failures that ended without help, and current needs. Pure. */
import type { UnsentNotice } from '../notify/notice.ts'
import type { About } from '../story/notices.ts'
import { counted, iso, utcTime } from '../system/shown-text.ts'
import { type Need, needJson } from './need.ts'

const AT_MOST = 10

interface DigestFacts {
  /** Instant of the digest: a target is notified once of each. */
  readonly due: number
  readonly since: number
  readonly failed: readonly string[]
  readonly needs: readonly Need[]
}

export function digestNotice(about: About, { due, since, failed, needs }: DigestFacts): UnsentNotice {
  const open = new Set(needs.flatMap(({ jobs }) => jobs))
  const ended = failed.filter((job) => !open.has(job))
  const [first] = needs
  const what = first === undefined ? '' : `: ${first.what}`
  const counts = `${failed.length} failed, ${ended.length} ended by ${ended.length === 1 ? 'itself' : 'themselves'} since`
  const words = failed.length + needs.length === 0 ? 'nothing failed' : counts
  return {
    ...about,
    kind: 'digest',
    subject: iso(due),
    failure: needs.length > 0,
    title: `Waybill: ${words}, ${needWords(needs.length)}${what}`,
    text: [
      `Since    ${utcTime(since)} UTC`,
      ...listLine('Failed', failed),
      ...listLine('Ended', ended),
      ...needs.slice(0, AT_MOST).map((need) => `Need     ${need.what}${sinceWords(need)}`),
      ...(needs.length > AT_MOST ? [`         and ${needs.length - AT_MOST} more`] : []),
    ],
    next: ['  waybill needs'],
    data: { since: iso(since), failed, ended, needs: needs.map(needJson) },
  }
}

const needWords = (count: number): string => {
  if (count === 0) return 'nothing needs you'
  return count === 1 ? '1 needs you' : `${count} need you`
}

const sinceWords = ({ since }: Need): string => (since === undefined ? '' : `, since ${utcTime(since)} UTC`)

function listLine(label: string, jobs: readonly string[]): string[] {
  if (jobs.length === 0) return []
  const more = jobs.length > AT_MOST ? ` and ${counted(jobs.length - AT_MOST, 'more job')}` : ''
  return [`${label.padEnd(9)}${jobs.slice(0, AT_MOST).join(', ')}${more}`]
}
