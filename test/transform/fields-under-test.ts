/** A compile context for single fields and conditions: JSON rows without levels, one table by name. */
import { createCatalog } from '../../src/transform/catalog.ts'
import { CompileContext, type Conventions } from '../../src/transform/compile-context.ts'
import { jsonNames, type Names } from '../../src/transform/scope.ts'
import { createUnits } from '../../src/transform/units.ts'

const resources = {
  catalog: createCatalog({}, {}),
  units: createUnits(new Map()),
  tables: new Map([['sexes', new Map([['F', 'FEMALE']])]]),
}

export const contextUnderTest = (
  conventions: Conventions = {},
  names: Names = jsonNames({}, () => undefined),
): CompileContext => new CompileContext(resources, names, (path) => ({ key: path.join('.') }), conventions)
