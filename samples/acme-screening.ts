/** The wide export of Acme's onsite screenings: CSV, one row for each participant and visit. */
import {
  ACME_COLUMNS,
  type AcmeRule,
  type Cells,
  DIAGNOSED,
  DIAGNOSES,
  MEASURED,
  MEASUREMENTS,
} from './acme-columns.ts'
import { csvLine, spoil, usableRules } from './acme-faults.ts'
import { ACME_FAULTS, type AcmeFault, faultFinder, Tally } from './dirt.ts'
import { type Health, healthAt } from './health.ts'
import { padded, personAt, providerAt, SAMPLE_YEAR } from './people.ts'
import { Random, STREAM } from './random.ts'

const SITES = [
  'North Campus',
  'South Campus',
  'Harbor Office',
  'Mill Street',
  'Airport Depot',
  'Main Warehouse',
] as const
/** Its tablets write dates in another form. */
const SITE_WITH_ISO_DATES = 'Mill Street'
const NOTES = [
  '',
  '',
  '',
  '',
  '',
  '',
  '',
  'left arm',
  'repeat in 3 months, please',
  'asked for "large" cuff',
  'ate breakfast',
] as const
const REPEATED_AFTER = 100

export interface AcmeCounts {
  /** Data rows in the file, unreadable and repeated ones with them. */
  rows: number
  /** Rows that the mapping skips (`no_show` is Y). */
  noShows: number
  /** Oddities that cost nothing: cells left empty, cells with `ND`, dates in the second form. */
  readonly oddities: Record<'empty' | 'not-done' | 'second-date-form', number>
  readonly faults: Record<AcmeFault, number>
  /** Records that can be sent, by rule, without those of repeated rows and of people who cannot be registered. */
  readonly records: Record<AcmeRule, number>
  /** Records, all rules together, of people who cannot be registered. */
  recordsWithoutAccount: number
}

export interface AcmeScreening {
  readonly counts: AcmeCounts
  /** The lines of the file, header first; `counts` is complete when the last one is taken. */
  lines(): Iterable<string>
}

export function acmeScreening(seed: number, participants: number, clean: boolean): AcmeScreening {
  const faultOf = faultFinder(ACME_FAULTS, clean)
  const oddities = new Tally(['empty', 'not-done', 'second-date-form'])
  const faults = new Tally(Object.keys(ACME_FAULTS) as AcmeFault[])
  const records = new Tally<AcmeRule>([
    ...Object.values(MEASUREMENTS),
    'glucose-fasting',
    ...Object.values(DIAGNOSES),
    'pcp',
  ])
  const counts: AcmeCounts = {
    rows: 0,
    noShows: 0,
    oddities: oddities.counts,
    faults: faults.counts,
    records: records.counts,
    recordsWithoutAccount: 0,
  }

  const count = (cells: Cells, fault: AcmeFault | undefined): void => {
    const cost = fault === undefined ? 'nothing' : ACME_FAULTS[fault].cost
    if (cost === 'row') return
    for (const rule of usableRules(cells, fault)) {
      if (cost === 'account') counts.recordsWithoutAccount++
      else records.add(rule)
    }
  }

  const cellsAt = (ordinal: number, fault: AcmeFault | undefined): Cells => {
    const person = personAt(seed, ordinal)
    const random = new Random(seed, STREAM.visit, ordinal)
    const noShow = fault === undefined && random.chance(0.02)
    const site = random.pick(SITES)
    const health = healthAt(seed, ordinal, person)
    const provider = fault !== undefined || random.chance(0.7) ? providerAt(seed, random) : undefined
    const cells: Cells = {
      participant_id: person.participantId,
      first_name: person.firstName,
      last_name: person.lastName,
      dob: person.dateOfBirth,
      gender: person.gender,
      zip: person.postalCode,
      screened_at: screenedAt(random, site),
      site,
      no_show: noShow ? 'Y' : 'N',
      ...(noShow ? NOTHING_MEASURED : measured(health)),
      pcp_name: provider?.name ?? '',
      pcp_npi: provider?.npi ?? '',
      pcp_phone: provider?.phone ?? '',
      notes: noShow ? '' : random.pick(NOTES),
    }
    if (noShow) {
      counts.noShows++
      return cells
    }
    if (site === SITE_WITH_ISO_DATES && fault !== 'date-impossible') oddities.add('second-date-form')
    if (fault === undefined) leaveOut(cells, random, oddities)
    else spoil(cells, fault)
    count(cells, fault)
    return cells
  }

  function* lines(): Iterable<string> {
    yield `${ACME_COLUMNS.join(',')}\n`
    const waiting: { readonly after: number; readonly line: string }[] = []
    for (let ordinal = 1; ordinal <= participants; ordinal++) {
      const fault = faultOf(ordinal)
      const cells = cellsAt(ordinal, fault)
      if (fault !== undefined) faults.add(fault)
      yield csvLine(cells, fault)
      counts.rows++
      if (fault === 'row-repeated')
        waiting.push({ after: ordinal + REPEATED_AFTER, line: csvLine(cells, fault) })
      if (fault === 'row-corrected') {
        const corrected = { ...cells, sbp: String(Number(cells.sbp) + 4) }
        waiting.push({ after: ordinal + REPEATED_AFTER, line: csvLine(corrected, fault) })
      }
      while (waiting[0] !== undefined && (waiting[0].after <= ordinal || ordinal === participants)) {
        yield waiting[0].line
        waiting.shift()
        counts.rows++
      }
    }
  }
  return { counts, lines }
}

/** Local time in New York, on the working days of four weeks of February. */
function screenedAt(random: Random, site: string): string {
  const day = padded(2 + random.integer(0, 3) * 7 + random.integer(0, 4), 2)
  const time = `${padded(random.integer(7, 15), 2)}:${padded(random.integer(0, 11) * 5, 2)}`
  return site === SITE_WITH_ISO_DATES
    ? `${SAMPLE_YEAR}-02-${day} ${time}`
    : `02/${day}/${SAMPLE_YEAR} ${time}`
}

type MeasuredColumn = 'fasting' | keyof typeof MEASUREMENTS | keyof typeof DIAGNOSES

const NOTHING_MEASURED = Object.fromEntries(
  ['fasting', ...MEASURED, ...DIAGNOSED].map((column) => [column, '']),
) as Record<MeasuredColumn, string>

function measured(health: Health): Record<MeasuredColumn, string> {
  return {
    fasting: flag(health.fasting),
    sbp: String(health.systolic),
    dbp: String(health.diastolic),
    pulse: String(health.pulse),
    height_in: health.heightIn.toFixed(1),
    weight_lb: health.weightLb.toFixed(1),
    bmi: health.bmi.toFixed(1),
    waist_in: health.waistIn.toFixed(1),
    tc: String(health.totalCholesterol),
    hdl: String(health.hdl),
    ldl: health.ldl === undefined ? '' : String(health.ldl),
    trig: String(health.triglycerides),
    glucose: String(health.glucose),
    a1c: health.hba1c.toFixed(1),
    tobacco: flag(health.tobacco),
    dx_diabetes: flag(health.diabetes),
    dx_hypertension: flag(health.hypertension),
    dx_asthma: flag(health.asthma),
  }
}

const flag = (holds: boolean): string => (holds ? 'Y' : 'N')

function leaveOut(
  cells: Cells,
  random: Random,
  oddities: Tally<'empty' | 'not-done' | 'second-date-form'>,
): void {
  for (const column of MEASURED) {
    const draw = random.next()
    if (draw >= 0.001 || cells[column] === '') continue
    cells[column] = draw < 0.0004 ? 'ND' : ''
    oddities.add(cells[column] === '' ? 'empty' : 'not-done')
  }
}
