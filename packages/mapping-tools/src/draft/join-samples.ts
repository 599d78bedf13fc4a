/** Joins several samples of a vendor; notes list the differences by file. */
import { WaybillError } from '../../../../src/model/errors.ts'
import type { Sample, SampleTable } from './read-sample.ts'
import { members, scalar } from './write-draft.ts'

export interface NamedSample {
  readonly file: string
  readonly sample: Sample
}

/** Joins samples. @throws WaybillError `usage-wrong` for different kinds, which a single mapping cannot read */
export function joinSamples(samples: readonly [NamedSample, ...NamedSample[]]): Sample {
  const [first, ...others] = samples
  return others.reduce((joined, other) => join(first.file, joined, other), first.sample)
}

function join(file: string, one: Sample, { file: name, sample: other }: NamedSample): Sample {
  if (one.kind === 'table' && other.kind === 'table')
    return { kind: 'table', table: joinTables(file, one.table, name, other.table) }
  if (one.kind === 'json' && other.kind === 'json' && one.format === other.format)
    return { ...one, documents: [...one.documents, ...other.documents] }
  if (
    one.kind === 'records' &&
    other.kind === 'records' &&
    JSON.stringify(one.types) === JSON.stringify(other.types)
  )
    return { ...one, notes: jointNotes(one, name, other), documents: [...one.documents, ...other.documents] }
  throw new WaybillError(
    'usage-wrong',
    `${name} is of another form than ${file}, but a mapping reads only one form`,
    { remedy: 'Draft a mapping for each: `waybill mapping init SAMPLE`.' },
  )
}

type Read = Pick<SampleTable, 'read' | 'notes'>

/** Notes of both samples, and differences of their `read` blocks. */
function jointNotes({ read, notes }: Read, file: string, other: Read): string[] {
  const [mine, theirs] = [members(read), members(other.read)]
  const another = theirs.filter((line) => !mine.includes(line)).join(', ')
  const isSame = another === '' && theirs.length === mine.length
  const asked = `DECIDE: ${file} needs another read block (${another || 'fewer keys'}), but a mapping has only one.`
  return [
    ...notes,
    ...(isSame ? [] : [asked]),
    ...other.notes
      .filter((note) => !notes.includes(note))
      .map((note) => note.replace(/^(DECIDE: )?/, `$1${file}: `)),
  ]
}

function joinTables(file: string, one: SampleTable, name: string, other: SampleTable): SampleTable {
  const places = new Map(other.columns.map(({ path }, at) => [path, at]))
  const more = other.columns.filter(({ path }) => !one.columns.some((column) => column.path === path))
  const columns = [...one.columns, ...more]
  const list = (paths: readonly { readonly path: string }[]): string =>
    paths.map(({ path }) => scalar(path)).join(', ')
  const missing = one.columns.filter(({ path }) => !places.has(path))
  const renamed = one.columns.filter((column) => {
    const same = other.columns[places.get(column.path) ?? -1]
    return same !== undefined && same.name !== column.name
  })
  const differences = [
    { words: 'it lacks', paths: missing },
    { words: 'only it has', paths: more },
    { words: 'the line below the header differs for', paths: renamed },
  ].flatMap(({ words, paths }) => (paths.length === 0 ? [] : [`${words} ${list(paths)}`]))
  const asked = `DECIDE: ${name} differs from ${file}: ${differences.join('; ')}. A column that a rule reads must be in each file.`
  return {
    ...one,
    notes: [...jointNotes(one, name, other), ...(differences.length === 0 ? [] : [asked])],
    columns,
    rows: [
      ...one.rows.map((row) => [...row, ...more.map(() => '')]),
      ...other.rows.map((row) => columns.map(({ path }) => row[places.get(path) ?? -1] ?? '')),
    ],
  }
}
