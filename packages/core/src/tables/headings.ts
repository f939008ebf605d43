/** What a column can be. `ignored` columns are not read. */
export const FIELDS = [
  'name',
  'first_name',
  'middle_name',
  'last_name',
  'phone',
  'email',
  'external_id',
  'tags',
  'attributes',
  'unsubscribed',
  'attribute',
  'ignored',
] as const

/** What a column can be. */
export type Field = (typeof FIELDS)[number]

/**
 * The headings of each field, in the languages and exports that we know. Case, accents, spaces and punctuation do not count. If
 * several columns are phone numbers, those before a slash are the first choice.
 */
const HEADINGS: Partial<Record<Field, string>> = {
  phone: `
    phone, phone number, phone no, mobile, mobile phone, mobile number, mobile no, mobile phone number, cell, cell phone, cellphone,
    cell number, msisdn, gsm, handy, handynummer, mobil, mobilnummer, mobiltelefon, mobilfunk, mobilfunknummer, mobilrufnummer,
    portable, téléphone portable, téléphone mobile, mobile perso, numéro de portable, numéro de mobile, móvil, teléfono móvil,
    celular, teléfono celular, número de celular, número de móvil, telemóvel, telefone celular, telefone móvel, cellulare,
    telefono cellulare, numero di cellulare, simu ya mkononi, namba ya simu, nambari ya simu, mobiel, mobiele telefoon,
    mobiel nummer, telefon komórkowy, komórka, mobiltelefonnummer, mobilní telefon, cep telefonu, мобильный,
    мобильный телефон, мобільний телефон, 手机, 手机号, 手机号码, 携帯電話, 携帯電話番号, 휴대폰, 휴대전화, 휴대폰번호, मोबाइल, मोबाइल नंबर, جوال, الجوال,
    رقم الجوال, מספר נייד, נייד, nomor hp, no hp, số điện thoại, di động, หมายเลขโทรศัพท์, มือถือ / primary phone, telephone,
    telephone number, telephone no, tel, tel no, tel number, contact number, contact no, contact phone, telefon, telefonnummer, tel nr,
    telefonnr, rufnummer, téléphone, numéro de téléphone, no de téléphone, teléfono, número de teléfono, número telefónico,
    telefone, número de telefone, numero di telefono, telefono, recapito telefonico, simu, telefoon, telefoonnummer, numer telefonu,
    nr telefonu, telefonnumer, puhelin, puhelinnumero, telefonszám, telefónne číslo, telefonní číslo, număr de telefon,
    telefon numarası, telefono numeris, τηλέφωνο, телефон, номер телефона, номер телефону, 电话, 电话号码, 電話, 電話號碼, 電話番号, 전화,
    전화번호, फ़ोन, फ़ोन नंबर, هاتف, الهاتف, رقم الهاتف, תלפון, טלפון, מספר טלפון, telepon, nomor telepon, điện thoại, โทรศัพท์ / whatsapp,
    whatsapp number, whatsapp phone, número de whatsapp, whatsapp nummer, sms, sms number / home phone, telefon privat, private phone,
    téléphone domicile, téléphone personnel, teléfono particular, telefone residencial, telefono abitazione / business phone,
    work phone, office phone, telefon geschäftlich, telefon dienstlich, telefon arbeit, téléphone bureau, téléphone professionnel,
    teléfono del trabajo, telefone comercial, telefono ufficio / other phone, company main phone, car phone, weiteres telefon`,
  email: `
    email, mail, email address, mail address, email id, primary email, email adresse, mail adresse, mailadresse, courriel,
    adresse email, adresse mail, adresse de courriel, adresse électronique, adresse de messagerie, correo, correo electrónico,
    dirección de correo electrónico, dirección de correo, dirección email, correio eletrônico, correio electrónico,
    endereço de email, posta elettronica, indirizzo email, indirizzo mail, indirizzo di posta elettronica, barua pepe,
    anwani ya barua pepe, emailadres, mailadres, adres email, adres e mail, epost, epostadresse, epostadress, epostiaadress,
    sähköposti, sähköpostiosoite, email cím, emailová adresa, adresă de email, eposta, eposta adresi, ηλεκτρονική διεύθυνση,
    электронная почта, почта, адрес электронной почты, електронна пошта, 邮箱, 电子邮件, 电子邮箱, 電子郵件, メール, メールアドレス, 이메일, 이메일 주소,
    ईमेल, البريد الإلكتروني, بريد إلكتروني, דואל, דואר אלקטרוני, surel, alamat email, thư điện tử, อีเมล / private email, personal email,
    home email, email privat / work email, business email, email geschäftlich, other email`,
  name: `
    name, full name, contact name, display name, customer name, vollständiger name, kontaktname, nom complet, nom et prénom,
    prénom et nom, nombre completo, nombre y apellidos, nome completo, jina, jina kamili, volledige naam, naam, imię i nazwisko,
    namn, navn, nimi, név, jméno a příjmení, isim, ad soyad, ονοματεπώνυμο, фио, имя и фамилия, 姓名, 名前, 氏名, 이름, 성명, नाम, पूरा नाम,
    الاسم, الاسم الكامل, שם, שם מלא, nama, nama lengkap, họ và tên, họ tên, ชื่อ, nom, nombre, nome`,
  first_name: `
    first name, given name, forename, christian name, vorname, rufname, prénom, primer nombre, nombre de pila, primeiro nome,
    nome próprio, nome di battesimo, jina la kwanza, voornaam, imię, förnamn, fornavn, etunimi, keresztnév, utónév, jméno, meno,
    prenume, adı, όνομα, имя, ім'я, 名, 이름 (성 제외), प्रथम नाम, पहला नाम, الاسم الأول, שם פרטי, nama depan, ชื่อจริง`,
  middle_name: `
    middle name, additional name, second name, zweiter vorname, weitere vornamen, deuxième prénom, segundo nombre, nome do meio,
    secondo nome, jina la kati, tweede voornaam, отчество, по батькові, nama tengah`,
  last_name: `
    last name, family name, surname, nachname, familienname, zuname, nom de famille, apellido, apellidos, primer apellido,
    sobrenome, apelido, último nome, cognome, jina la ukoo, jina la mwisho, jina la familia, achternaam, familienaam, nazwisko,
    efternamn, etternavn, efternavn, sukunimi, vezetéknév, családnév, příjmení, priezvisko, nume de familie, soyad, soyadı,
    επώνυμο, επίθετο, фамилия, прізвище, 姓, 성, उपनाम, कुलनाम, اسم العائلة, שם משפחה, nama belakang, นามสกุล`,
  external_id: 'external id, externe id, id externe, identifiant externe, id externo, id esterno',
  tags: `
    tags, tag, labels, group membership, schlagwörter, stichwörter, étiquettes, mots clés, etiquetas, etichette, lebo, etiketten`,
  attributes: 'attributes',
  unsubscribed: 'unsubscribed',
  // The columns of our own export and of a file of rejected rows.
  ignored: 'id, created at, updated at, import error',
}

/** Columns that exports of address books have for every contact, and the attribute that each becomes. */
const OF_ADDRESS_BOOKS: Readonly<Record<string, string>> = {
  company: 'company, organization name, organization 1 name',
  job_title: 'job title, organization title, organization 1 title',
  department: 'department, organization department, organization 1 department',
  nickname: 'nickname',
  birthday: 'birthday',
  city: 'address 1 city, home city, business city',
  country:
    'address 1 country, home country region, home country, business country region, business country',
}

/** A heading as it is compared: letters and digits alone. */
export function keyOf(heading: string): string {
  return heading
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}

const KNOWN = new Map<string, { field: Field; rank: number }>()
for (const [field, ranks] of Object.entries(HEADINGS) as [Field, string][]) {
  for (const [rank, headings] of ranks.split(' / ').entries()) {
    for (const heading of headings.split(',')) {
      const key = keyOf(heading)
      if (!KNOWN.has(key)) KNOWN.set(key, { field, rank })
    }
  }
}

const KEPT = new Map(
  Object.entries(OF_ADDRESS_BOOKS).flatMap(([attribute, headings]) =>
    headings.split(',').map((heading) => [keyOf(heading), attribute] as const),
  ),
)

/** The second and further columns of a phone number or e-mail address, in exports: “Home Phone 2”, “E-mail 1 - Value”. */
const NUMBERED = /^(\p{L}+?)(\d)(value|address)?$/u

/** The field that a heading names; null for an unknown heading. The column with the lowest rank is the first choice. */
export function fieldNamed(heading: string): { field: Field; rank: number } | null {
  const key = keyOf(heading)
  const known = KNOWN.get(key)
  if (known) return known
  const [, word = '', digit, rest = ''] = NUMBERED.exec(key) ?? []
  const several = KNOWN.get(rest === 'value' ? word : word + rest)
  if (several?.field !== 'phone' && several?.field !== 'email') return null
  return { field: several.field, rank: several.rank + Number(digit) / 10 }
}

/** Whether the header is that of an address book, whose exports have dozens of columns for every contact. */
export function isAddressBook(headings: readonly string[]): boolean {
  const keys = new Set(headings.map(keyOf))
  return ['email1value', 'phone1value', 'emaildisplayname', 'businessstreet'].some((key) =>
    keys.has(key),
  )
}

/** The attribute that a column of an address book becomes; null for a column that is not imported. */
export function keptOfAddressBook(heading: string): string | null {
  return KEPT.get(keyOf(heading)) ?? null
}
