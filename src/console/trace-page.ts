/** Trace: from a transaction, a row of an export or a person to runs, batches, answers and decisions. */
import { WaybillError } from '../model/errors.ts'
import { trace, traceExportRow } from '../runs/actions.ts'
import type { Application } from '../runs/application.ts'
import { ROW_PLACE, readRowPlace, type Trace, type TracedRow, tracePerson } from '../runs/trace.ts'
import { counts, nameHtml, table, words } from '../story/report/figures.ts'
import { html, n } from '../system/shown-text.ts'
import { errorPage, type Page, runLink, timeHtml, token, transactionLink } from './layout.ts'

interface TraceQuestion {
  readonly transaction?: string | undefined
  readonly row?: string | undefined
  /** Comes in a form alone: addresses are kept by browsers. */
  readonly person?: string | undefined
}

/** The forms, and below them the answer. A question without an answer says so below the forms. */
export async function tracePage(
  application: Application,
  { transaction, row, person }: TraceQuestion,
  csrf: string,
): Promise<Page & { readonly error?: unknown }> {
  const page = (json: unknown, answer: string): Page => ({
    title: 'Trace',
    json,
    body: `<h1>Trace</h1>
<p>From a record to its source line, batches, answers and decisions.</p>
${forms(csrf, { transaction, row })}
${answer}`,
  })
  try {
    if (transaction) {
      const traced = await trace(application, transaction)
      return page(traced, traceHtml(traced))
    }
    if (row) {
      const place = readRowPlace(row)
      if (place === undefined)
        throw new WaybillError('usage-wrong', `"${row}" is no row of an export`, { remedy: ROW_PLACE })
      const traced = await traceExportRow(application, place.name, place)
      return page(
        traced,
        `<section><h2>Row ${n(traced.row)} of ${nameHtml(traced.export)}</h2>${rowsTable([traced])}</section>`,
      )
    }
    if (person) {
      const traced = await tracePerson(application, person)
      const unread = traced.unread.map(
        ({ export: name, why }) => `<li>Not searched: ${html(name)}: ${html(why)}</li>`,
      )
      return page(
        traced,
        `<section><h2>Records of the person</h2>${
          traced.rows.length === 0
            ? '<p class="none">No remaining export has sent or rejected a record of this person.</p>'
            : rowsTable(traced.rows)
        }${unread.length === 0 ? '' : `<ul>${unread.join('')}</ul>`}</section>`,
      )
    }
    return page({}, '')
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return {
      ...page({}, `<section role="alert">${errorPage(error).body.replaceAll('h1>', 'h2>')}</section>`),
      error,
    }
  }
}

const forms = (
  csrf: string,
  given: Pick<TraceQuestion, 'transaction' | 'row'>,
): string => `<form method="get" action="/trace">
<label>Transaction id <input name="transaction" value="${html(given.transaction ?? '')}" autocomplete="off" spellcheck="false"></label>
<button>Trace the record</button></form>
<form method="get" action="/trace">
<label>Row of an export, like acme_20260302.csv:17 <input name="row" value="${html(given.row ?? '')}" autocomplete="off" spellcheck="false"></label>
<button>Trace the row</button></form>
<form method="post" action="/trace">${token(csrf)}
<label>Reference of a person, as in the exports <input name="person" autocomplete="off" spellcheck="false"></label>
<button>Trace the person</button></form>`

const rowsTable = (rows: readonly TracedRow[]): string =>
  table({
    label: 'Records',
    columns: [
      ...words('export'),
      ...counts('row'),
      ...words('rule', 'outcome', 'run', 'reason', 'transaction'),
    ],
    lines: rows.flatMap(({ export: name, row, records }) =>
      records.map(({ rule, outcome, run, reason, transactionId }) => [
        nameHtml(name),
        n(row),
        html(rule ?? '(row)'),
        html(outcome),
        runLink(run),
        html(reason?.code ?? ''),
        transactionId === undefined ? '' : transactionLink(transactionId),
      ]),
    ),
    kind: 'rows blocks',
  })

function traceHtml({ transactionId, rule, row, origin, export: found, runs, pruned }: Trace): string {
  const place =
    origin === undefined
      ? 'the file is gone or has changed: line unknown'
      : origin.sheet === undefined
        ? `line ${origin.line}, byte ${origin.byteOffset}`
        : `row ${origin.line} of the sheet ${html(origin.sheet)}`
  const facts = [
    ['transaction', `<code>${html(transactionId)}</code>`],
    [
      'export',
      `${nameHtml(found.name)} <span class="soft">SHA-256 <code>${html(found.sha256)}</code></span>`,
    ],
    ['row', `${n(row)}, ${place}`],
    ['rule', html(rule)],
  ]
  return `<section><h2>Record</h2>
<dl class="facts">${facts.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join('')}</dl></section>
${runs.map(runHtml).join('\n')}
${pruned.map(({ run, at }) => `<p>Run ${runLink(run)}: pruned on ${html(at.slice(0, 10))}.</p>`).join('\n')}`
}

function runHtml({ run, chunk, outcome, batches, decisions, reason }: Trace['runs'][number]): string {
  return `<section><h2>Run ${runLink(run)} <span>chunk ${chunk}: ${html(outcome)}</span></h2>
${reason === undefined ? '' : `<p>Reason <code>${html(reason.code)}</code> (${html(reason.stage)}): ${html(reason.message)}</p>`}
${
  batches.length === 0
    ? ''
    : table({
        label: 'Batches of the record',
        columns: [...words('batch', 'state', 'answer'), ...counts('tries'), ...words('begun', 'settled')],
        lines: batches.map(({ batchId, state, answer, status, attempts, begunAt, settledAt }) => [
          `<code>${html(batchId)}</code>`,
          html(state),
          html(answer === null ? 'no answer yet' : `${answer}${status === null ? '' : `, HTTP ${status}`}`),
          n(attempts),
          timeHtml(Date.parse(begunAt)),
          settledAt === null ? '' : timeHtml(Date.parse(settledAt)),
        ]),
        kind: 'rows blocks',
      })
}
${decisions.length === 0 ? '' : `<ul>${decisions.map(decisionHtml).join('')}</ul>`}</section>`
}

const decisionHtml = ({ event, run, by, note, at }: Trace['runs'][number]['decisions'][number]): string =>
  `<li>${timeHtml(Date.parse(at))}: ${html(event)}${run === null ? '' : `, run ${runLink(run)}`}${by === undefined ? '' : `, by ${html(by)}`}${note === undefined ? '' : `: ${html(note)}`}</li>`
