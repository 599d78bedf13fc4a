/** The command of WAYBILL_ACCESS_TOKEN_COMMAND, which prints an access token. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WaybillError } from '../errors.ts'

const TIME_LIMIT_MS = 30_000

/** @throws WaybillError `gateway-refused-credentials` where the command fails */
export async function printedToken(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { timeout: TIME_LIMIT_MS })
    return stdout.trim()
  } catch (error) {
    // What it printed may hold the token.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new WaybillError(
      'gateway-refused-credentials',
      `WAYBILL_ACCESS_TOKEN_COMMAND failed (exit ${code})`,
      {
        remedy: 'Run the command by hand: it must print an access token and nothing else.',
      },
    )
  }
}
