/**
 * The shapes in which results come as JSON (docs/mapping.md, "Reading JSON"): how each is recognised, which levels lead to
 * its results, and where on the way things stand. Where several paths are given, the sample decides.
 */
import { HL7_SHAPES } from './hl7-shapes.ts'
import { type JsonShape, member } from './json-shape.ts'

export const SHAPES: readonly JsonShape[] = [
  ...HL7_SHAPES,
  {
    kind: 'Redox Results',
    recognise: (document) => member(document, 'Meta', 'DataModel') === 'Results',
    each: { order: '$.Orders[*]', result: 'order.Results[*]' },
    key: ['$.Meta.Message.ID', '$.Meta.EventDateTime'],
    reference: ["$.Patient.Identifiers[?@.IDType == 'MR'].ID", '$.Patient.Identifiers[0].ID'],
    register: {
      firstName: ['$.Patient.Demographics.FirstName'],
      lastName: ['$.Patient.Demographics.LastName'],
      dateOfBirth: ['$.Patient.Demographics.DOB'],
      gender: ['$.Patient.Demographics.Sex'],
      postalCode: ['$.Patient.Demographics.Address.ZIP'],
    },
    observedAt: [
      'order.CollectionDateTime',
      'result.CompletionDateTime',
      'order.TransactionDateTime',
      '$.Meta.EventDateTime',
    ],
    biometrics: {
      code: ['result.Code'],
      name: ['result.Description'],
      value: ['result.Value'],
      unit: ['result.Units'],
      status: ['result.Status'],
      refRange: ['result.ReferenceRange.Text'],
    },
  },
  {
    kind: 'FHIR R4 Observation',
    recognise: (document) => member(document, 'resourceType') === 'Observation',
    each: {},
    key: ['$.id'],
    reference: ['$.subject.reference'],
    register: { firstName: [], lastName: [], dateOfBirth: [], gender: [], postalCode: [] },
    observedAt: ['$.effectiveDateTime', '$.effectivePeriod.start', '$.issued'],
    biometrics: {
      code: ["$.code.coding[?@.system == 'http://loinc.org'].code", '$.code.coding[0].code'],
      name: ['$.code.text', '$.code.coding[0].display'],
      value: ['$.valueQuantity.value'],
      unit: ['$.valueQuantity.code', '$.valueQuantity.unit'],
      status: ['$.status'],
      refRange: ['$.referenceRange[0].text'],
    },
    components: {
      each: { component: '$.component[*]' },
      rules: {
        code: [
          "component.code.coding[?@.system == 'http://loinc.org'].code",
          'component.code.coding[0].code',
        ],
        name: ['component.code.text', 'component.code.coding[0].display'],
        value: ['component.valueQuantity.value'],
        unit: ['component.valueQuantity.code', 'component.valueQuantity.unit'],
        status: ['$.status'],
        refRange: [],
      },
    },
  },
  {
    kind: 'FHIR R4 Condition',
    recognise: (document) => member(document, 'resourceType') === 'Condition',
    each: {},
    key: ['$.id'],
    reference: ['$.subject.reference'],
    register: { firstName: [], lastName: [], dateOfBirth: [], gender: [], postalCode: [] },
    observedAt: ['$.onsetDateTime', '$.recordedDate'],
    conditions: {
      code: ["$.code.coding[?@.system == 'http://snomed.info/sct'].code", '$.code.coding[0].code'],
      status: ['$.clinicalStatus.coding[0].code'],
    },
  },
]
