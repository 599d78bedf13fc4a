/**
 * One table a resource: the record as it was sent (`body`, JSON text) beside the columns that are asked for.
 * `account` is the `seq` of its account. `persistent_id` is kept where it differs from the transaction id.
 */
const observations = (table: string) => `
  CREATE TABLE ${table} (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    account INTEGER NOT NULL,
    code_key TEXT NOT NULL,
    source_type TEXT,
    observed_ms INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    persistent_id TEXT,
    stored_ms INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;`

const ACCOUNTS_AND_PROFILE = `
  CREATE TABLE accounts (
    seq INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL UNIQUE,
    partner_account_id TEXT UNIQUE,
    registration TEXT,
    stored_ms INTEGER NOT NULL
  ) STRICT;
  ${observations('biometrics')}
  ${observations('conditions')}
  CREATE TABLE care_teams (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    npi TEXT,
    pcp INTEGER NOT NULL DEFAULT 0,
    persistent_id TEXT,
    stored_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX care_teams_of_account ON care_teams (account);
  CREATE UNIQUE INDEX one_pcp_of_account ON care_teams (account) WHERE pcp = 1;`

/** Requests for medical records, and the state of each user's age assessment. */
const REQUESTER_AND_ASSESSMENT = `
  CREATE TABLE medical_records_requests (
    seq INTEGER PRIMARY KEY,
    reference_number TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    updated_ms INTEGER NOT NULL,
    authorization_name TEXT,
    authorization BLOB
  ) STRICT;
  CREATE TABLE authorization_uploads (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    request INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX authorization_uploads_of_request ON authorization_uploads (request);
  CREATE TABLE assessments (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    assessment_id TEXT NOT NULL,
    progress TEXT NOT NULL,
    answered_ms INTEGER NOT NULL,
    UNIQUE (account, assessment_id)
  ) STRICT;
`

/**
 * The steps that lead from an empty file to the tables of today. A data file's `user_version` says how many it has taken;
 * a step that was released is never changed.
 */
export const STEPS: readonly string[] = [ACCOUNTS_AND_PROFILE, REQUESTER_AND_ASSESSMENT]
