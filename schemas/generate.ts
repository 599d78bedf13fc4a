/** Writes the JSON Schemas beside this file: `npm run schemas`. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonSchemas } from '../src/mapping-tools/schema.ts'

for (const [name, schema] of Object.entries(jsonSchemas())) {
  await writeFile(join(import.meta.dirname, `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`)
}
