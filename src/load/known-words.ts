/**
 * The words of a refusal that may stand outside the rejects file: names of fields in the interface, and words that say what is wrong.
 * Left out on purpose: words that are common names as well (`may`, `mark`, `grant`, `long`), words of a medical history (`positive`,
 * `high`, `active`), and single letters.
 */

/** Interface, "Resources and their fields" and the query parameters, as far as records, accounts and care teams go. */
const FIELDS = `
accountReference accountReferenceType account reference type sponsor
code codes codeSystem codeSystemName name
transactionId observationDate refHigh refLow refRange value unit
source notes meta dataQuality batchId resourceKey sendingSystem persistentRecordId
status medication family history member
profile phoneNumber location address city zip npi id userId pcp createDate updateDate hydrateCareTeams
dateOfBirth firstName gender lastName partnerAccountId postalCode accountId
entity data errors message created updated
`

const TERMS = `
not no none neither nor only already still yet again later more less than too few many least most
is are was were be been has have had must should can cannot could does did
of for in on at out to the and or by with without from within before after between because this that these those its it
null empty blank missing absent required mandatory optional given present specified provided expected unexpected
valid invalid known unknown unrecognized unsupported supported allowed permitted forbidden denied unauthorized
malformed incorrect wrong inconsistent duplicate duplicated exist exists existing found conflict conflicts match matches mismatch
exceed exceeds exceeded limit limits maximum minimum range outside length size larger largest smaller smallest
greater equal less longer shorter zero negative decimal decimals digits characters whitespace
number numeric integer string text object array list boolean format formatted pattern encoding
field property properties attribute parameter parameters key values entry entries element elements item items index position
date dates time timestamp timezone zone future past year month
record records row batch request requests response body payload header headers envelope content media json
parse parsed parsing error failed failure fails rejected refused accepted stored saved deleted ignored processed unprocessable
validation validate constraint violation violated schema check
registered unregistered registration user users person patient provider team teams accounts birth postal phone identifier identifiers
biometric biometrics condition conditions measurement measurements units system systems
version server internal service gateway unavailable timeout quota temporarily retry try
token credentials access permission method implemented locked gone
`

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

/** By its lower case the word as it is told: the way in which the gateway writes it tells nothing. */
export const KNOWN_WORDS: ReadonlyMap<string, string> = new Map(
  [...words(TERMS), ...words(FIELDS)].map((word) => [word.toLowerCase(), word]),
)
