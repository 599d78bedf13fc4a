/** Where the access token comes from: WAYBILL_ACCESS_TOKEN, or the command that prints one. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type AccessTokenSource, checkCredential } from '../gateway/access-token.ts'
import { WaybillError } from '../model/errors.ts'
import type { Settings } from '../settings.ts'

const TIME_LIMIT_MS = 30_000

/** A token that is given is used as it is; a command is run for the first, and again when one is refused. */
export function accessTokenOf({
  accessToken,
  accessTokenCommand,
}: Pick<Settings, 'accessToken' | 'accessTokenCommand'>): AccessTokenSource {
  if (accessTokenCommand === undefined) return { accessToken: async () => accessToken ?? '' }
  const run = () => printedToken(accessTokenCommand)
  return { accessToken: accessToken === undefined ? run : async () => accessToken, renewAccessToken: run }
}

/** @throws WaybillError `gateway-refused-credentials` where the command fails; `settings-invalid` where it prints no token */
export async function printedToken(command: string): Promise<string> {
  const printed = await output(command)
  return checkCredential(printed.trim(), 'WAYBILL_ACCESS_TOKEN_COMMAND')
}

async function output(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { timeout: TIME_LIMIT_MS })
    return stdout
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
