/** An error as a person reads it: what was found, where, and what to do next. */
import { describePlace, WaybillError } from '../errors.ts'

export function describeError(error: unknown): string {
  if (!(error instanceof WaybillError)) {
    return `\nerror unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n  This is a defect of Waybill. The ledger knows how far it came; running the job again goes on from there.\n`
  }
  const where = error.place === undefined ? '' : describePlace(error.place)
  const at = where === '' || error.message.includes(where) ? '' : `  at ${where}\n`
  const findings = error.findings.map(({ place, message }) => `  ${describePlace(place)}: ${message}\n`)
  return `\nerror ${error.code}: ${error.message}\n${at}${findings.join('')}  What to do: ${error.remedy}\n`
}

export function errorAsJson(error: WaybillError): object {
  return {
    error: {
      code: error.code,
      message: error.message,
      place: error.place,
      findings: error.findings,
      remedy: error.remedy,
    },
  }
}
