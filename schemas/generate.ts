/** Writes the JSON Schemas beside this file: `npm run schemas`. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { jsonSchemas } from '../packages/mapping-tools/src/schema.ts'

const keysOf = async (section: string): Promise<string[]> =>
  Object.keys(parse(await readFile(join(import.meta.dirname, `../mappings/catalog/${section}.yaml`), 'utf8')))
const keys = { biometrics: await keysOf('biometrics'), conditions: await keysOf('conditions') }

for (const [name, schema] of Object.entries(jsonSchemas(keys))) {
  await writeFile(join(import.meta.dirname, `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`)
}
