import { GSM7_BASIC, GSM7_EXTENSION } from './segments.ts'

/** The characters of a 7 bit table by their codes. A code without a character is absent. */
type Table = ReadonlyMap<number, string>

/** The tables of one national language. */
export interface NationalTables {
  /** Takes the place of the default alphabet. */
  locking: Table
  /** Takes the place of the extension table: the codes after an escape. */
  single: Table
}

/** The default alphabet and its extension table. */
const LATIN: NationalTables = {
  locking: new Map(Array.from(GSM7_BASIC, (character, code) => [code, character])),
  single: new Map(Array.from(GSM7_EXTENSION, ([character, code]) => [code, character])),
}

const NO_TABLE: Table = new Map()

/** What the tables of the Indic languages and Urdu have in common. */
const INDIC: NationalTables = {
  locking: tableOf(NO_TABLE, '0a:a 0d:d 20:20-21 28:29 29:28 2c:2c 2e:2e 30:30-3b 3f:3f 61:61-7a'),
  single: tableOf(
    NO_TABLE,
    '00:40 01:a3 02:24 03:a5 04:bf 05:22 06:a4 07:25-27 0a:c 0b:2a-2b 0e:2d 0f:2f 10:3c-3e 13:a1 14:5e ' +
      '15:a1 16:5f 17:23 18:2a 28:7b 29:7d 2f:5c 3c:5b 3d:7e 3e:5d 40:7c 41:41-5a 65:20ac',
  ),
}

/**
 * The tables of the national languages by their identifiers; 0 is no language. Source: 3GPP TS 23.038 clause 6.2.1.2.4
 * and annex A. Codes that are misprinted in the annex have the characters that phones use: 0x24 in A.3.7 (Kannada), 0x24
 * in A.2.11 (Tamil), 0x22 and 0x23 in A.2.12 (Telugu).
 */
export const NATIONAL_TABLES: ReadonlyMap<number, NationalTables> = new Map([
  [0, LATIN],
  // Turkish: A.3.1, A.2.1
  [
    1,
    {
      locking: tableOf(LATIN.locking, '04:20ac 07:131 0b:11e-11f 1c:15e-15f 40:130 60:e7'),
      single: tableOf(LATIN.single, '47:11e 49:130 53:15e 63:e7 67:11f 69:131 73:15f'),
    },
  ],
  // Spanish: A.2.2; it has no locking shift table.
  [
    2,
    {
      locking: LATIN.locking,
      single: tableOf(LATIN.single, '09:e7 41:c1 49:cd 4f:d3 55:da 61:e1 69:ed 6f:f3 75:fa'),
    },
  ],
  // Portuguese: A.3.3, A.2.3
  [
    3,
    {
      locking: tableOf(
        LATIN.locking,
        '04:ea 06:fa 07:ed 08:f3 09:e7 0b:d4 0c:f4 0e:c1 0f:e1 12:aa 13:c7 14:c0 15:221e 16:5e 17:5c 18:20ac ' +
          '19:d3 1a:7c 1c:c2 1d:e2 1e:ca 24:ba 40:cd 5b:c3 5c:d5 5d:da 60:7e 7b:e3 7c:f5 7d:60',
      ),
      single: tableOf(
        LATIN.single,
        '05:ea 09:e7 0b:d4 0c:f4 0e:c1 0f:e1 12:3a6 13:393 15:3a9 16:3a0 17:3a8 18:3a3 19:398 1f:ca 41:c0 ' +
          '49:cd 4f:d3 55:da 5b:c3 5c:d5 61:c2 69:ed 6f:f3 75:fa 7b:e3 7c:f5 7f:e2',
      ),
    },
  ],
  // Bengali: A.3.4, A.2.4
  [
    4,
    {
      locking: tableOf(
        INDIC.locking,
        '00:981-983 03:985-98b 0b:98c 0f:98f-990 13:993-99a 1c:99b-99e 22:99f-9a4 2a:9a5-9a6 2d:9a7 2f:9a8 ' +
          '3d:9aa-9ab 40:9ac-9b0 46:9b2 4a:9b6-9b9 4e:9bc-9c4 59:9c7-9c8 5d:9cb-9ce 7b:9d7 7c:9dc-9dd ' +
          '7e:9f0-9f1',
      ),
      single: tableOf(
        INDIC.single,
        '19:9e6-9e7 1c:9e8-9ef 24:9df-9e2 2a:9e3 2b:9f2-9f5 30:9f6-9fa',
      ),
    },
  ],
  // Gujarati: A.3.5, A.2.5
  [
    5,
    {
      locking: tableOf(
        INDIC.locking,
        '00:a81-a83 03:a85-a8b 0b:a8c-a8d 0f:a8f-a91 13:a93-a9a 1c:a9b-a9e 22:a9f-aa4 2a:aa5-aa6 2d:aa7 ' +
          '2f:aa8 3d:aaa-aab 40:aac-ab0 46:ab2-ab3 49:ab5-ab9 4e:abc-ac5 59:ac7-ac9 5d:acb-acd 60:ad0 ' +
          '7b:ae0-ae3 7f:af1',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:ae6-aef'),
    },
  ],
  // Hindi: A.3.6, A.2.6
  [
    6,
    {
      locking: tableOf(
        INDIC.locking,
        '00:901-903 03:905-90b 0b:90c-90d 0e:90e-91a 1c:91b-91e 22:91f-924 2a:925-926 2d:927 2f:928 ' +
          '3c:929-92b 40:92c-939 4e:93c-94d 60:950 7b:972 7c:97b-97c 7e:97e-97f',
      ),
      single: tableOf(
        INDIC.single,
        '19:964-965 1c:966-96f 26:951-952 2a:953-954 2c:958-95a 30:95b-963 39:970-971',
      ),
    },
  ],
  // Kannada: A.3.7, A.2.7
  [
    7,
    {
      locking: tableOf(
        INDIC.locking,
        '01:c82-c83 03:c85-c8b 0b:c8c 0e:c8e-c90 12:c92-c9a 1c:c9b-c9e 22:c9f-ca4 2a:ca5-ca6 2d:ca7 2f:ca8 ' +
          '3d:caa-cab 40:cac-cb3 49:cb5-cb9 4e:cbc-cc4 58:cc6-cc8 5c:cca-ccd 60:cd5 7b:cd6 7c:ce0-ce3',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:ce6-cef 26:cde 27:cf1 2a:cf2'),
    },
  ],
  // Malayalam: A.3.8, A.2.8
  [
    8,
    {
      locking: tableOf(
        INDIC.locking,
        '01:d02-d03 03:d05-d0b 0b:d0c 0e:d0e-d10 12:d12-d1a 1c:d1b-d1e 22:d1f-d24 2a:d25-d26 2d:d27 2f:d28 ' +
          '3d:d2a-d2b 40:d2c-d39 4f:d3d-d44 58:d46-d48 5c:d4a-d4d 60:d57 7b:d60-d63 7f:d79',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:d66-d71 2a:d72-d75 2e:d7a 30:d7b-d7f'),
    },
  ],
  // Oriya: A.3.9, A.2.9
  [
    9,
    {
      locking: tableOf(
        INDIC.locking,
        '00:b01-b03 03:b05-b0b 0b:b0c 0f:b0f-b10 13:b13-b1a 1c:b1b-b1e 22:b1f-b24 2a:b25-b26 2d:b27 2f:b28 ' +
          '3d:b2a-b2b 40:b2c-b30 46:b32-b33 49:b35-b39 4e:b3c-b44 59:b47-b48 5d:b4b-b4d 60:b56 7b:b57 ' +
          '7c:b60-b63',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:b66-b6f 26:b5c-b5d 2a:b5f 2b:b70-b71'),
    },
  ],
  // Punjabi: A.3.10, A.2.10
  [
    10,
    {
      locking: tableOf(
        INDIC.locking,
        '00:a01-a03 03:a05-a0a 0f:a0f-a10 13:a13-a1a 1c:a1b-a1e 22:a1f-a24 2a:a25-a26 2d:a27 2f:a28 ' +
          '3d:a2a-a2b 40:a2c-a30 46:a32-a33 49:a35-a36 4c:a38-a39 4e:a3c 50:a3e-a42 59:a47-a48 5d:a4b-a4d ' +
          '60:a51 7b:a70-a74',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:a66-a6f 26:a59-a5a 2a:a5b-a5c 2c:a5e 2d:a75'),
    },
  ],
  // Tamil: A.3.11, A.2.11
  [
    11,
    {
      locking: tableOf(
        INDIC.locking,
        '01:b82-b83 03:b85-b8a 0e:b8e-b90 12:b92-b95 19:b99-b9a 1d:b9c 1f:b9e 22:b9f 26:ba3-ba4 2f:ba8 ' +
          '3c:ba9-baa 42:bae-bb9 50:bbe-bc2 58:bc6-bc8 5c:bca-bcd 60:bd0 7b:bd7 7c:bf0-bf2 7f:bf9',
      ),
      single: tableOf(INDIC.single, '19:964-965 1c:be6-bef 26:bf3-bf4 2a:bf5-bf8 2e:bfa'),
    },
  ],
  // Telugu: A.3.12, A.2.12
  [
    12,
    {
      locking: tableOf(
        INDIC.locking,
        '00:c01-c03 03:c05-c0b 0b:c0c 0e:c0e-c10 12:c12-c1a 1c:c1b-c1e 22:c1f-c24 2a:c25-c26 2d:c27 2f:c28 ' +
          '3d:c2a-c2b 40:c2c-c33 49:c35-c39 4f:c3d-c44 58:c46-c48 5c:c4a-c4d 60:c55 7b:c56 7c:c60-c63',
      ),
      single: tableOf(INDIC.single, '1c:c66-c6f 26:c58-c59 2a:c78-c7c 30:c7d-c7f'),
    },
  ],
  // Urdu: A.3.13, A.2.13
  [
    13,
    {
      locking: tableOf(
        INDIC.locking,
        '00:627 01:622 02:628 03:67b 04:680 05:67e 06:6a6 07:62a 08:6c2 09:67f 0b:679 0c:67d 0e:67a 0f:67c ' +
          '10:62b-62c 12:681 13:684 14:683 15:685-687 18:62d-62f 1c:68c 1d:688-68a 22:68f 23:68d 24:630-631 ' +
          '26:691 27:693 2a:699 2b:632 2d:696 2f:698 3c:69a 3d:633-634 40:635-639 45:641-642 47:6a9-6ab 4a:6af ' +
          '4b:6b3 4c:6b1 4d:644-646 50:6ba-6bc 53:648 54:6c4 55:6d5 56:6c1 57:6be 58:621 59:6cc 5a:6d0 5b:6d2 ' +
          '5c:64d 5d:650 5e:64f 5f:657 60:654 7b:655 7c:651 7d:653 7e:656 7f:670',
      ),
      single: tableOf(
        INDIC.single,
        '19:600-601 1c:6f0-6f9 26:60c-60d 2a:60e-612 30:613-614 32:61b 33:61f 34:640 35:652 36:658 37:66b-66c ' +
          '39:672-673 3b:6cd 3f:6d4',
      ),
    },
  ],
])

/**
 * Adds characters to a table. `runs` has for each run its first code, and its first and last character in Unicode, in
 * hexadecimal: `19:964-965`.
 */
function tableOf(base: Table, runs: string): Table {
  const table = new Map(base)
  for (const run of runs.split(' ')) {
    const [code = 0, first = 0, last = first] = run
      .split(/[:-]/)
      .map((hex) => Number.parseInt(hex, 16))
    for (let i = 0; first + i <= last; i++) table.set(code + i, String.fromCharCode(first + i))
  }
  return table
}
