/** What happens in a round of one job alone, drawn from seed and number alone: job, nights, exports, faults, kills. Pure. */
import { Random } from '../samples/random.ts'
import {
  type DrawnFault,
  drawFaults,
  failingPerson,
  faultsBefore,
  type Pace,
  strangeEchoes,
  undeletable,
  unreadable,
} from './draw-faults.ts'
import { DRILL_STREAM, type ExportsPlan } from './exports.ts'
import { CARE_TEAM_POINTS, type Kill, type KillPoint, RUN_POINTS } from './kill-points.ts'
import type { Ending } from './scene.ts'
import { WIPES, type Wipe } from './wipe-gateway.ts'

/** What a round is about, in turn; all else is drawn beside it. */
export const THEMES = [
  // One to three exports, with every fault over every call of a run.
  'one-night',
  // Repeated visits to few physicians, changed telephones and marks; kills around care teams.
  'care-teams',
  // Stored creates without an answer; reads answered 404, 204, with a page, or with nothing.
  'unreadable',
  'care-teams',
  // Records both echoed and listed as errors; echoes with another value, account or id.
  'strange-echoes',
  // One person whose registration, mark, care team or pulse always gets a 5xx.
  'failing-person',
  // A pulse alternating between two values.
  'taken-back',
  // Documents with results new, corrected, gone, or sorted otherwise.
  'growing-lists',
  // The ledger deleted, replaced by the backup of the first night, or with another `WAYBILL_KEY`.
  'ledger-lost',
  'care-teams',
  'ledger-restored',
  // Three exports with equal names, the last byte for byte the first.
  'same-name',
  // Two jobs of a home read exports about equal new people and doctors at once.
  'two-jobs',
  'other-key',
  // The next export arrives under an equal name during archiving.
  'while-archived',
  // Before the last night nobody registered, account ids of strangers, or people under swapped ids.
  'gateway-wiped',
] as const
export type Theme = (typeof THEMES)[number]

export interface RoundPlan {
  readonly theme: Theme
  readonly exports: ExportsPlan
  readonly submit: { readonly concurrency: number; readonly records: number }
  readonly registeredAgain: 'same' | 'conflict'
  readonly changed: 'add' | 'replace' | 'keep'
  /** How long a run waits for the gateway; undefined: as long as it ever does. */
  readonly patience: string | undefined
  /** Exports go into an archive; otherwise each night reads all that has come until then. */
  readonly archive: boolean
  /** The archive is on another file system. */
  readonly archiveElsewhere: boolean
  /** Where a process stops until the next export has come under the same name. */
  readonly meets: Kill | undefined
  /** Runs the program as shipped, at its own pace, instead of the watched one. */
  readonly shipped: boolean
  readonly pace: Pace
  readonly nights: readonly Night[]
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  /** How the gateway is wiped before the last night. */
  readonly wipe: Wipe | undefined
  /** Somebody looks at the first run that is not over. */
  readonly looks: boolean
  /** The faults last: no night is without them. */
  readonly lasting: boolean
  /** A second process is started beside the first that may go on. */
  readonly rival: boolean
  /** A second job has its own exports of the same people, and runs at the same time. */
  readonly twoJobs: boolean
  /** What is done with what the nights left behind, without faults. */
  readonly settle: 'reconcile' | 'rerun' | undefined
  /** Once all is over, the same exports are run again, without faults. */
  readonly again: boolean
  /** The machine is started again behind each process that is killed. */
  readonly restarts: boolean
  /** Nothing may be owed in the end: deletions fail, and then all is run again. */
  readonly owesNothing: boolean
}

export interface Night {
  /** How many exports arrive before it. */
  readonly exports: number
  /** Of the processes that are killed, in their order; the next ones may go on. */
  readonly endings: readonly Ending[]
  /** What befalls the ledger: before the night, or behind its first killed process. */
  readonly ledger?: { readonly to: 'lost' | 'restored' | 'other-key'; readonly midway: boolean }
  /** A copy of the ledger is made when it is over. */
  readonly backup: boolean
}

/** Milliseconds that a watched process waits for an answer; 5 s of waiting take a twentieth of it. */
export const WATCHED: Pace = { answerWithin: 250, late: 120 }
export const SHIPPED: Pace = { answerWithin: undefined, late: 1_000 }

/** The theme of a round that is not of a backfill. */
export const themeOf = (round: number): Theme => THEMES[ordinalOf(round) % THEMES.length] ?? 'one-night'

/** Number of the round among those of one job alone. */
const ordinalOf = (round: number): number => round - Math.floor((round + 1) / 4) - Math.floor(round / 10)

export function planRound(seed: number, round: number): RoundPlan {
  const random = new Random(seed, DRILL_STREAM.plan, round)
  const theme = themeOf(round)
  const isOneNight = theme === 'one-night'
  const shipped = isOneNight && random.chance(0.3)
  const pace = shipped ? SHIPPED : WATCHED
  const rows = isOneNight ? sizeOf(random) : random.integer(6, 20)
  // One named point a round in turn, so that none is left to chance, with a fault that leads there where it takes one.
  const point =
    theme === 'care-teams' && random.chance(0.7)
      ? random.pick(CARE_TEAM_POINTS)
      : (RUN_POINTS[ordinalOf(round) % RUN_POINTS.length] ?? 'before-intent')
  const named: Ending = { by: 'point', kill: { point, nth: random.pick([1, 1, 2]) } }
  const nights = nightsOf(random, theme, shipped, shipped ? drawEnding(random, true) : named)
  const plan: Omit<RoundPlan, 'patience'> = {
    theme,
    exports: {
      exports: nights.reduce((sum, { exports }) => sum + exports, 0),
      rows,
      people: Math.max(3, Math.ceil(rows * random.pick(isOneNight ? [0.2, 0.7, 1.5] : [0.15, 0.3, 0.7]))),
      dirt: random.chance(isOneNight ? 0.5 : 0.15),
      doctors: random.pick([0, 2, 3]),
      ...(theme === 'taken-back' || theme === 'same-name' || random.chance(0.2)
        ? { pulses: ['70', '75'] }
        : {}),
      nested: nestedOf(theme),
      ...(theme === 'same-name' ? { naming: 'first-again' as const } : {}),
      ...(theme === 'while-archived' ? { naming: 'one-name' as const } : {}),
      apart: theme === 'two-jobs' || theme === 'while-archived',
    },
    submit: {
      concurrency: random.integer(1, 8),
      records: random.pick([1, 5, 20, 60, 250].filter((count) => count * 25 > rows) as [number, ...number[]]),
    },
    // Who answers 200 to everybody gives no sign that it knows somebody.
    registeredAgain: theme === 'ledger-lost' ? 'conflict' : random.pick(['same', 'conflict']),
    changed: changedOf(theme, point, random),
    archive:
      theme === 'while-archived' ||
      (!OF_INSTALLATION.has(theme) && (random.chance(0.4) || point.endsWith('-archived'))),
    ...meetingOf(theme, seed, round),
    shipped,
    pace,
    nights,
    faults: [...(shipped ? [] : faultsBefore(point)), ...faultsOf(random, theme, pace)],
    faultSeed: random.integer(1, 1_000_000),
    lasting: theme === 'failing-person',
    looks: random.chance(0.3),
    wipe: theme === 'gateway-wiped' ? new Random(seed, DRILL_STREAM.wipes, round).pick(WIPES) : undefined,
    rival: random.chance(0.06) && theme !== 'two-jobs',
    twoJobs: theme === 'two-jobs',
    settle: random.chance(theme === 'unreadable' ? 0.7 : 0.1)
      ? random.pick(['reconcile', 'rerun'])
      : undefined,
    again: random.chance(isOneNight ? 0.2 : 0.4),
    owesNothing: false,
    restarts: !shipped && theme !== 'two-jobs' && new Random(seed, DRILL_STREAM.restarts, round).chance(0.2),
  }
  // At the end of the patience a read is given up: so there is one where that excuses the doubt.
  const isShort =
    (theme === 'failing-person' || theme === 'unreadable') &&
    plan.faults.some(({ harm }) => harm.hidesProfiles)
  const isUndeletable =
    theme !== 'two-jobs' && plan.faults.some(({ fault }) => fault['on'] === 'deleteCareTeams')
  const replacing = { changed: 'replace', archive: false, again: true, owesNothing: true } as const
  return { ...plan, ...(isUndeletable ? replacing : {}), patience: isShort ? '10s' : undefined }
}

function changedOf(theme: Theme, point: KillPoint, random: Random): RoundPlan['changed'] {
  if (theme === 'two-jobs' || theme === 'gateway-wiped') return 'add'
  const drawn = random.pick(['add', 'replace', 'replace', 'keep'] as const)
  return point.endsWith('-delete') ? 'replace' : drawn
}

const OF_LEDGER: ReadonlySet<Theme> = new Set(['ledger-lost', 'ledger-restored', 'other-key'])
/** Exports that were delivered are read again in the end. */
const OF_INSTALLATION: ReadonlySet<Theme> = new Set([...OF_LEDGER, 'gateway-wiped'])
const ONE_NAME: ReadonlySet<Theme> = new Set(['same-name', 'while-archived'])
const THREE_NIGHTS: ReadonlySet<Theme> = new Set([
  'ledger-restored',
  'taken-back',
  'growing-lists',
  'same-name',
  'while-archived',
])

/** Points behind the last row of an export, and before the ledger knows that it is archived. */
const AROUND_ARCHIVING = ['before-export-end', 'before-archived'] as const

function meetingOf(theme: Theme, seed: number, round: number): Pick<RoundPlan, 'meets' | 'archiveElsewhere'> {
  if (theme !== 'while-archived') return { meets: undefined, archiveElsewhere: false }
  const random = new Random(seed, DRILL_STREAM.meetings, round)
  const point = random.pick(AROUND_ARCHIVING)
  return { meets: { point, nth: 1 }, archiveElsewhere: random.chance(0.5) }
}

function nightsOf(random: Random, theme: Theme, shipped: boolean, first: Ending): Night[] {
  const more = (counts: [number, ...number[]]): Ending[] =>
    Array.from({ length: random.pick(counts) }, () => drawEnding(random, shipped))
  if (theme === 'one-night')
    return [{ exports: random.integer(1, 3), endings: [first, ...more([0, 0, 1, 2])], backup: false }]
  const isOfLedger = OF_LEDGER.has(theme)
  const count = THREE_NIGHTS.has(theme) ? 3 : random.integer(2, 3)
  const killed = random.integer(0, count - 1)
  return Array.from({ length: count }, (_, at): Night => {
    const isLast = at === count - 1
    const to = theme === 'other-key' ? theme : theme === 'ledger-lost' ? 'lost' : 'restored'
    return {
      exports: theme === 'two-jobs' ? 2 : 1,
      endings: at === killed || (isOfLedger && isLast) ? [first, ...more([0, 0, 1])] : [],
      ...(isOfLedger && isLast ? { ledger: { to, midway: to !== 'other-key' && random.chance(0.4) } } : {}),
      backup: theme === 'ledger-restored' && at === 0,
    }
  })
}

const nestedOf = (theme: Theme): number =>
  theme === 'growing-lists' ? 1 : theme === 'one-night' ? 0.35 : ONE_NAME.has(theme) ? 0 : 0.1

function faultsOf(random: Random, theme: Theme, pace: Pace): DrawnFault[] {
  const any = (counts: [number, ...number[]]): DrawnFault[] =>
    Array.from({ length: random.pick(counts) }, () => drawFaults(random, pace)).flat()
  switch (theme) {
    case 'one-night':
      return any([0, 1, 1, 2, 3])
    case 'care-teams':
      return random.chance(0.3) ? undeletable(random) : any([0, 0, 1])
    case 'unreadable':
      return unreadable(random)
    case 'strange-echoes':
      return strangeEchoes(random)
    case 'failing-person':
      return failingPerson(random)
    case 'gateway-wiped':
      return []
    default:
      return any([0, 0, 1])
  }
}

/** Mostly small; now and then more than one chunk. */
function sizeOf(random: Random): number {
  const size = random.next()
  if (size < 0.75) return random.integer(8, 30)
  return size < 0.97 ? random.integer(30, 80) : random.integer(350, 450)
}

/** Near the beginning mostly, where every point is passed. */
const nthOf = (random: Random): number => random.pick([1, 1, 1, 2, 3, random.integer(1, 12)])

function drawEnding(random: Random, shipped: boolean): Ending {
  if (shipped || random.chance(0.3)) return { by: 'instant', afterMs: random.integer(150, 900) }
  return { by: 'point', kill: { point: random.pick(RUN_POINTS), nth: nthOf(random) } }
}
