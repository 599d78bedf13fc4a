/** What a new folder needs for a first run: the sample job with its mappings and exports, and a file of settings to fill in. */
import { constants } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WaybillError } from '../model/errors.ts'

const SHIPPED = fileURLToPath(new URL('../..', import.meta.url))

const SAMPLES = [
  'jobs/nightly-screenings.yaml',
  ...['acme-onsite', 'northlab-oru'].flatMap((name) => [
    `mappings/${name}.yaml`,
    `mappings/${name}.cases.yaml`,
  ]),
  'mappings/tables/lab-codes.csv',
  ...['job', 'mapping', 'cases', 'catalog-biometrics', 'catalog-conditions'].map(
    (name) => `schemas/${name}.schema.json`,
  ),
  'samples/inbox/acme_screening_20260302.csv',
  'samples/inbox/northlab_oru_20260302.ndjson',
  'samples/tutorial/lakeside_20260430.csv',
] as const

const ENVIRONMENT = `# Settings of this folder: copy to .env (mode 0600) and fill in. All of them: docs/settings.md.
# Where records go, unless the job says so: https://…, or built-in for the stand-in on this machine.
#WAYBILL_GATEWAY_URL=
#WAYBILL_API_KEY=
# One of these: a token, or a command that prints one.
#WAYBILL_ACCESS_TOKEN=
#WAYBILL_ACCESS_TOKEN_COMMAND=
# Ledger, key, receipts and rejects: a local disk, and the one thing to back up.
#WAYBILL_HOME=.waybill
#WAYBILL_LOG_FILE=.waybill/log/waybill.log
`

export interface Begun {
  readonly folder: string
  /** Relative to the folder. */
  readonly written: readonly string[]
  /** Those that were there already: they are left as they are. */
  readonly kept: readonly string[]
}

/** Overwrites nothing. @throws WaybillError `usage-wrong` where the folder cannot be written */
export async function beginFolder(to: string): Promise<Begun> {
  const folder = resolve(to)
  const written: string[] = []
  const kept: string[] = []
  const place = async (name: string, write: (path: string) => Promise<void>): Promise<void> => {
    const path = join(folder, name)
    try {
      await mkdir(dirname(path), { recursive: true })
      await write(path)
      written.push(name)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST'))
        throw new WaybillError('usage-wrong', `${path} cannot be written`, {
          place: { file: path },
          remedy: 'Go to a folder that you may write to, or name one: waybill init FOLDER.',
          cause: error,
        })
      kept.push(name)
    }
  }
  for (const name of SAMPLES)
    await place(name, (path) => copyFile(join(SHIPPED, name), path, constants.COPYFILE_EXCL))
  await place('.env.example', (path) => writeFile(path, ENVIRONMENT, { flag: 'wx' }))
  return { folder, written, kept }
}
