/** The section `medicalRecords` of a mapping, as written (docs/medical-records.md). */
import { z } from 'zod'
import {
  BirthDateDefinition,
  FieldDefinition,
  FieldObject,
  told,
  WhenDefinition,
} from './field-definition.ts'

/** A day that is read, or the same for all rows. */
const DateOfService = z.union([
  z
    .strictObject({ constant: z.iso.date() })
    .transform(({ constant }) => ({ constant, format: ['yyyy-MM-dd'] })),
  BirthDateDefinition,
])

const Dates = z.strictObject({
  type: told('`startEnd` where it is not given.', z.union([z.string().min(1), FieldObject])),
  start: DateOfService,
  end: DateOfService,
})

/** Fields of a provider that the interface names, "Medical-records request". */
const PROVIDER_FIELDS = [
  ...(['type', 'groupName', 'npi', 'firstName', 'lastName', 'address1', 'address2'] as const),
  ...(['city', 'state', 'zip', 'phone', 'fax', 'contact'] as const),
] as const

export const MedicalRecordsDefinition = z.strictObject({
  when: WhenDefinition.optional(),
  reference: FieldDefinition.meta({
    description: 'Its reference number: decides between a new request and a change.',
  }),
  patient: z.strictObject({
    firstName: FieldDefinition,
    lastName: FieldDefinition,
    dob: BirthDateDefinition,
    type: told(
      'Of the reference; a bare word is the type itself.',
      z.union([z.string().min(1), FieldObject]),
    ),
    reference: FieldDefinition.optional(),
    zip: FieldDefinition.optional(),
  }),
  provider: told(
    'From whom records are asked for. `others` takes fields that the interface does not name.',
    z.strictObject({
      ...(Object.fromEntries(PROVIDER_FIELDS.map((name) => [name, FieldDefinition.optional()])) as Record<
        (typeof PROVIDER_FIELDS)[number],
        z.ZodOptional<typeof FieldDefinition>
      >),
      others: z.record(z.string().min(1), FieldDefinition).optional(),
    }),
  ),
  request: z.strictObject({
    type: told('Sent empty where it is not given.', z.union([z.string().min(1), FieldObject])),
    requestType: z.union([z.string().min(1), FieldObject]).meta({
      description: 'One of those that the gateway lists, by id or name; a bare word is the type itself.',
    }),
    requestSubType: z.union([z.string().min(1), FieldObject]).meta({
      description: 'Of that type, by id or name; a bare word is the sub-type itself.',
    }),
    datesOfService: Dates,
    disclosures: told(
      'What may be disclosed; a bare word is the disclosure itself, and a field gives none, or several with commas.',
      z.array(z.union([z.string().min(1), FieldObject])).min(1),
    ),
  }),
  authorization: told(
    'The PDF with which the patient allows it; it lies in the folder that the job names.',
    z.strictObject({ file: FieldDefinition.meta({ description: 'Its name, without a folder.' }) }),
  ),
  withdrawn: told('Requests that are to be withdrawn.', WhenDefinition),
})
export type MedicalRecordsDefinition = z.infer<typeof MedicalRecordsDefinition>
