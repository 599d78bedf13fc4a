/** Lists beside the runs: rows of a reason, records in doubt, exports by night, backfills, and mappings. */
import { EXIT, errorAsJson } from '../model/errors.ts'
import { readBackfills } from '../runs/backfills.ts'
import { readInDoubt } from '../runs/in-doubt.ts'
import { listMappings, viewMapping } from '../runs/mapping-samples.ts'
import { readExports } from '../runs/read-exports.ts'
import { rowsOfReason, valuesOfReason } from '../runs/run-detail.ts'
import { durationText } from '../story/report/figures.ts'
import { counted, n, sizeText } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Action } from './commands.ts'
import { MAPPING_VIEWS } from './mapping-views.ts'

/** Rows of a reason, for `show --reason`. @param values true for the cells of the rows: health data */
export async function showReason(
  context: CommandContext,
  {
    run = 'latest',
    reason,
    values,
    json,
  }: { run?: string | undefined; reason: string; values?: true | undefined; json?: true | undefined },
): Promise<number> {
  if (values) {
    const person = { by: context.user, note: null }
    const found = await valuesOfReason(context, run, reason, person)
    print(context, json, found, ({ rows, gone, hasMore }) => [
      ...rows.flatMap(({ export: name, row, rule, values: cells }) => [
        `Row ${n(row)} of ${name}, ${rule ?? '(row)'}`,
        ...cells.map(([column, cell]) => `  ${column}  ${cell}`),
      ]),
      ...gone.map((name) => `Without a rejects file: ${name}`),
      ...moreLine(hasMore, rows.length),
    ])
    return EXIT.ok
  }
  print(context, json, await rowsOfReason(context, run, reason), ({ rows, hasMore }) => [
    ...fittedTable(
      ['row', 'line', 'export', 'rule', 'today', 'transaction'],
      rows.map((one) => [
        ...[n(one.row), n(one.line), one.export, one.rule ?? '(row)', one.state],
        one.transactionId ?? '',
      ]),
      'none',
      context.columns,
    ),
    ...moreLine(hasMore, rows.length),
  ])
  return EXIT.ok
}

const moreLine = (hasMore: boolean, shown: number): string[] =>
  hasMore ? [`The first ${n(shown)}. The rejects file has all.`] : []

const inDoubt: Action<'in-doubt'> = async (context, { json }) => {
  const runs = await readInDoubt(context)
  print(context, json, { runs }, () =>
    runs.length === 0
      ? 'No record is in doubt.'
      : runs.flatMap(({ run, job, records, unasked, hasMore }) => [
          `Run ${run} of ${job}: ${counted(records.length, 'record')} in doubt${unasked === 0 ? '' : `, ${n(unasked)} in flight when it was given up`}. To look again: waybill reconcile ${run}`,
          ...fittedTable(
            ['transaction', 'export', 'row', 'rule', 'last look'],
            records.map((one) => [one.transactionId, one.export, n(one.row), one.rule, one.look]),
            'none',
            context.columns,
          ),
          ...moreLine(hasMore, records.length),
        ]),
  )
  return EXIT.ok
}

const exports: Action<'exports'> = async (context, { job, json }) => {
  const found = await readExports(context, job)
  print(context, json, { job, exports: found }, () =>
    found.length === 0
      ? `No run of ${job} has read an export yet.`
      : fittedTable(
          ['export', 'run', 'begun', 'rows', 'skipped', 'rejected', 'size'],
          found.map(({ export: name, run, startedAt, rows, bytes }) => [
            ...[name, run, startedAt.slice(0, 16), n(rows.read), n(rows.skipped), n(rows.rejected)],
            sizeText(bytes),
          ]),
          { from: 3, to: 6 },
          context.columns,
        ),
  )
  return EXIT.ok
}

const backfills: Action<'backfills'> = async (context, { json }) => {
  const found = await readBackfills(context)
  print(context, json, { backfills: found }, () =>
    found.length === 0
      ? 'There are no backfills yet.'
      : fittedTable(
          ['run', 'job', 'from', 'to', 'state', 'exports', 'rows', 'at work'],
          found.map(({ run, job, backfill, state, isUnderWay, exports: all, rows, durationMs }) => [
            ...[run, job, backfill.from, backfill.to, isUnderWay ? 'under way' : state],
            ...[n(all.length), n(rows), durationText(durationMs)],
          ]),
          { from: 5, to: 7 },
          context.columns,
        ),
  )
  return EXIT.ok
}

const mappingList: Action<'mapping list'> = async (context, { json }) => {
  const mappings = await listMappings(context)
  print(context, json, { mappings }, () =>
    fittedTable(
      ['mapping', 'jobs', 'state'],
      mappings.map(({ mapping, jobs, problem }) => [mapping, jobs.join(', '), problem ?? 'valid']),
      'none',
      context.columns,
    ),
  )
  return EXIT.ok
}

const mappingShow: Action<'mapping show'> = async (context, { mapping, sample: asked, json }) => {
  const { view } = await viewMapping(context, MAPPING_VIEWS.compare, mapping, asked)
  const { file, sample, samples, compared, problem } = view
  const shown = { mapping, file, sample, samples, compared, ...errorAsJson(problem) }
  print(context, json, shown, () => [
    `Mapping ${mapping}: ${file}`,
    ...samples.map(
      ({ exportRow, export: name, run }) =>
        `${exportRow === sample?.exportRow ? '>' : ' '} ${exportRow}  ${name}, run ${run}`,
    ),
    ...(problem === undefined ? [] : [`Not compared: ${problem.message}`]),
    ...(compared === undefined
      ? []
      : [
          `Since that run: ${n(compared.rows.different)} of ${counted(compared.rows.read, 'row')} differ.`,
          ...Object.entries(compared.rules).map(
            ([rule, { added, removed, changed, reason }]) =>
              `  ${rule}: ${n(added)} added, ${n(removed)} removed, ${n(changed)} changed, ${n(reason)} with another reason`,
          ),
        ]),
  ])
  return EXIT.ok
}

export const actions = { inDoubt, exports, backfills, mappingList, mappingShow }
