/**
 * How columns about a person are called, in English, German, French and Spanish: in lower case and without marks above
 * letters (`name-words.ts`). Spaces within a name say nothing.
 */

const PERSON = [
  ...['participant', 'patient', 'member', 'person', 'subject', 'employee', 'subscriber', 'user', 'client'],
  ...['external', 'patienten', 'pat', 'versicherten', 'versicherter', 'probanden', 'proband', 'teilnehmer'],
  ...['mitglied', 'mitglieds', 'klienten', 'adherent', 'assure', 'paciente', 'participante', 'asegurado'],
]
const NUMBER = ['id', 'number', 'no', 'identifier', 'nr', 'nummer', 'kennung', 'num', 'numero', 'identifiant']

export const REFERENCE: readonly string[] = [
  ...PERSON.flatMap((person) => NUMBER.map((number) => `${person} ${number}`)),
  ...PERSON.flatMap((person) =>
    ['id', 'numero', 'no', 'numero de', 'identifiant'].map((number) => `${number} ${person}`),
  ),
  ...['mrn', 'medical record number', 'pid', 'seqn', 'emp id', 'ipp', 'nhc', 'numero historia clinica'],
  ...PERSON,
  ...['id', 'uid', 'identifier', 'kennung', 'identifiant', 'identificador'],
]

export const REGISTER = {
  firstName: [
    ...['first name', 'fname', 'given name', 'first', 'given', 'pat first name', 'patient first name'],
    ...['member first name', 'vorname', 'vornamen', 'rufname', 'vorname patient', 'patient vorname'],
    ...['prenom', 'prenoms', 'prenom patient', 'nombre de pila', 'primer nombre', 'nombres', 'nombre'],
  ],
  lastName: [
    ...['last name', 'lname', 'family name', 'surname', 'last', 'family', 'patient last name'],
    ...['member last name', 'nachname', 'familienname', 'zuname', 'patient nachname', 'nom de famille'],
    ...['nom usuel', 'apellidos', 'apellido', 'primer apellido'],
  ],
  dateOfBirth: [
    ...['dob', 'date of birth', 'birth date', 'birth dt', 'birthday', 'patient dob', 'member dob'],
    ...['geburtsdatum', 'geburtstag', 'geb datum', 'geb dat', 'geb', 'geb am', 'geboren', 'geboren am'],
    ...['date de naissance', 'date naissance', 'naissance', 'ddn', 'fecha de nacimiento'],
    ...['fecha nacimiento', 'fecha nac', 'fec nac', 'f nac', 'nacimiento'],
  ],
  gender: [
    ...['gender', 'sex', 'patient sex', 'patient gender', 'member gender', 'geschlecht', 'geschl'],
    ...['patient geschlecht', 'sexe', 'sexo', 'genero'],
  ],
  postalCode: [
    ...['zip', 'zip code', 'postal code', 'postcode', 'postal', 'home zip', 'zip5', 'plz', 'postleitzahl'],
    ...['code postal', 'codigo postal', 'cp'],
  ],
} as const

/** Beside a first name so called, a column called so holds the last name. */
export const LAST_BESIDE_FIRST: Readonly<Record<string, readonly string[]>> = {
  vorname: ['name'],
  prenom: ['nom'],
}

/** When something was observed: the first of them that a name holds tells how likely. */
export const OBSERVED: readonly string[] = [
  ...['collected', 'collection', 'drawn', 'draw', 'entnahme', 'entnahmedatum', 'entnahmezeit', 'abnahme'],
  ...['abnahmedatum', 'probenentnahme', 'blutentnahme', 'prelevement', 'preleve', 'extraccion', 'toma'],
  ...['screened', 'screening', 'screeningdatum', 'visit', 'visited', 'besuch', 'besuchsdatum', 'visite'],
  ...['visitendatum', 'visita', 'consultation', 'consulta', 'exam', 'examination', 'untersuchung'],
  ...['untersuchungsdatum', 'untersuchungstag', 'untersucht', 'examen', 'observation', 'observed'],
  ...['measured', 'measurement', 'messung', 'messdatum', 'messzeitpunkt', 'mesure', 'medicion', 'service'],
  ...['dos', 'encounter', 'test', 'testdatum', 'specimen', 'muestra', 'taken', 'effective', 'event', 'start'],
  'onset',
]

/** Dates of whatever. */
export const A_DATE = /^(?:date|datetime|timestamp|time|when|datum|zeitpunkt|fecha|ts)$/

/** Words of dates that are never those of an observation. */
export const NOT_OBSERVED =
  /^(?:dob|birth\w*|born|geb|gebdat\w*|geburt\w*|geboren|naissance|ddn|nacimiento|nac|death\w*|died|deceased|verstorben|tod|todes\w*|sterbe\w*|deces|defuncion|fallecimiento|created|updated|modified|erstellt|erstellungs\w*|geandert|geaendert|anderungs\w*|creation|modification|creacion|modificacion|actualizacion|export|exported|exportdatum|druckdatum|printed|loaded|stop|end|ende|enddatum|fin|abatement|discharge|entlassung|entlassungs\w*|sortie|alta|registered|registration|enrolled|enrollment|enrolment|hire|hired|joined|expiry|expires|next|nachste|naechste|prochaine|proxima|due|faellig|fallig)$/
