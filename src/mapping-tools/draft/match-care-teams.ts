/** Which columns name somebody's physicians: by National Provider Identifiers, whose check digit holds. */
import { isNpi } from '../../transform/codes.ts'
import { named } from './match-persons.ts'
import { joined } from './name-words.ts'
import { type ColumnProfile, MOST } from './profile-columns.ts'
import { type DraftLine, scalar } from './sample.ts'

export interface CareTeams {
  readonly lines: readonly DraftLine[]
  /** Columns that the lines speak of. */
  readonly used: ReadonlySet<string>
  /** Columns by what they tell of a provider. */
  readonly providers: ReadonlyMap<string, 'npi' | 'providerName' | 'providerPhone'>
}

/** Columns of National Provider Identifiers, with what stands beside them under the same name. */
export function careTeamLines(columns: readonly ColumnProfile[]): CareTeams {
  const lines: DraftLine[] = []
  const providers = new Map<string, 'npi' | 'providerName' | 'providerPhone'>()
  for (const column of columns) {
    const valid = column.filled.filter(isNpi)
    const says = column.words.includes('npi')
    if (valid.length === 0 || valid.length < column.filled.length * (says ? 0.5 : MOST)) continue
    const prefix = column.words.filter((word) => word !== 'npi' && word !== 'id')
    const beside = (...names: string[]): ColumnProfile | undefined =>
      named(
        columns,
        names.map((name) => [...prefix, name].join(' ')),
      )
    const name = beside('name', 'full name', 'display', 'nom', 'nombre')
    const rule = /^[a-z][a-z0-9-]*$/.test(prefix.join('-')) ? prefix.join('-') : 'provider'
    if (name === undefined) {
      lines.push({
        note: `${scalar(column.path)} holds NPIs, but no column has the name that belongs to them.`,
      })
      continue
    }
    const phone = beside('phone', 'phone number', 'tel', 'telefon', 'telephone', 'telefono')
    const keys = [
      `when: { ${scalar(column.path)}: present }`,
      `npi: ${scalar(column.path)}`,
      `name: ${scalar(name.path)}`,
      ...(phone === undefined ? [] : [`phoneNumber: ${scalar(phone.path)}`]),
    ]
    const primary = prefix.some((word) => ['pcp', 'primary', 'hausarzt'].includes(word))
    const invalid = column.filled.length - valid.length
    if (invalid > 0)
      lines.push({ note: `${invalid} of ${column.filled.length} fail the check digit and will be rejected.` })
    lines.push({
      yaml: `${rule}: { ${[...keys, ...(primary ? ['primary: true'] : [])].join(', ')} }`,
      note: primary ? 'primary: marks it as primary care physician' : 'type is PCP unless it is told',
    })
    providers.set(column.path, 'npi').set(name.path, 'providerName')
    if (phone !== undefined) providers.set(phone.path, 'providerPhone')
  }
  const physicians = columns.filter(
    ({ words, path, filled }) => filled.length > 0 && !providers.has(path) && PHYSICIANS.test(joined(words)),
  )
  for (const { path } of physicians)
    lines.push({ note: `${scalar(path)} names physicians; a care team needs their NPIs too.` })
  return { lines, providers, used: new Set([...providers.keys(), ...physicians.map(({ path }) => path)]) }
}

/** Without marks above letters, as names are compared. */
const PHYSICIANS =
  /^(?:pcp|primarycarephysician|familydoctor|hausarzt|hausaerztin|hausarztin|medecintraitant|medicodecabecera|medicodefamilia)(?:name)?$/
