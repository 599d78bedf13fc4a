/** Logs lines into a file that is put aside often, and ends at once. Arguments: file, name, number of lines, bytes of a file. */
import { createLogFile, createLogger } from '../../src/telemetry/logger.ts'

const [path = '', name = '', lines = '0', maxBytes = '0'] = process.argv.slice(2)
const file = { path, maxBytes: Number(maxBytes), files: 1_000 }
const print = createLogFile(file, Date.now, (problem) => process.stderr.write(problem))
const quiet = { level: 'error', form: 'text', print: () => {} } as const
const logger = createLogger(quiet, { level: 'info', form: 'json', print }, Date.now)
for (let row = 1; row <= Number(lines); row++) logger.info('said', { job: name, row })
process.exit(0)
