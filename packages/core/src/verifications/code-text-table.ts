/**
 * The texts of a locale. `{code}` stands for the code, `{brand}` for the name of the product, `{minutes}` for a number with
 * its unit in the plural form of the language ("10 minutes", in the nominative), `{number}` for the number alone.
 * `[a|b]` is `a` with a brand and `b` without one; `[a]` is `a` or nothing.
 */
export interface CodeTexts extends CodeSentences {
  /** The sentences of an SMS, where custom writes an SMS without the accents that GSM-7 lacks. */
  sms?: CodeSentences
  /** The last sentence of an e-mail. */
  ignore: string
  /** What a call reads out, and the language of the voice; null: the providers have no voice, so the call is in English. */
  call: { text: string; language: string } | null
  rtl?: true
}

/** The three sentences of every message. */
export interface CodeSentences {
  code: string
  valid: string
  secret: string
}

/** The texts by locale. */
export const CODE_TEXT_TABLE: Readonly<Record<string, CodeTexts>> = {
  en: {
    code: '{code} is your[ {brand}] verification code.',
    valid: 'Valid for {minutes}.',
    secret: 'Do not share it.',
    ignore: 'If you did not request this code, ignore this e-mail.',
    call: {
      text: 'Your[ {brand}] code is: {code}. Again, your code is: {code}.',
      language: 'en-US',
    },
  },
  de: {
    code: '{code} ist Ihr Bestätigungscode[ für {brand}].',
    valid: 'Gültig für {minutes}.',
    secret: 'Geben Sie ihn nicht weiter.',
    ignore: 'Falls Sie diesen Code nicht angefordert haben, ignorieren Sie diese E-Mail.',
    call: {
      text: 'Ihr Code[ für {brand}] lautet: {code}. Ich wiederhole: {code}.',
      language: 'de-DE',
    },
  },
  fr: {
    code: '{code} est votre code de vérification[ {brand}].',
    valid: 'Valable {minutes}.',
    secret: 'Ne le partagez pas.',
    ignore: "Si vous n'avez pas demandé ce code, ignorez cet e-mail.",
    call: { text: 'Votre code[ {brand}] est : {code}. Je répète : {code}.', language: 'fr-FR' },
  },
  es: {
    code: '{code} es tu código de verificación[ de {brand}].',
    valid: 'Caduca en {minutes}.',
    secret: 'No lo compartas.',
    sms: {
      code: '{code} es tu codigo de verificacion[ de {brand}].',
      valid: 'Caduca en {minutes}.',
      secret: 'No lo compartas.',
    },
    ignore: 'Si no solicitaste este código, ignora este correo.',
    call: { text: 'Tu código[ de {brand}] es: {code}. Repito: {code}.', language: 'es-ES' },
  },
  pt: {
    code: '{code} é o seu código de verificação[ {brand}].',
    valid: 'Válido durante {minutes}.',
    secret: 'Não o partilhe.',
    sms: {
      code: '{code} é o seu codigo de verificacao[ {brand}].',
      valid: 'Valido durante {minutes}.',
      secret: 'Nao o partilhe.',
    },
    ignore: 'Se não pediu este código, ignore este e-mail.',
    call: { text: 'O seu código[ {brand}] é: {code}. Repito: {code}.', language: 'pt-PT' },
  },
  'pt-BR': {
    code: '{code} é o seu código de verificação[ {brand}].',
    valid: 'Válido por {minutes}.',
    secret: 'Não compartilhe com ninguém.',
    sms: {
      code: '{code} é o seu codigo de verificacao[ {brand}].',
      valid: 'Valido por {minutes}.',
      secret: 'Nao compartilhe com ninguem.',
    },
    ignore: 'Se você não pediu este código, ignore este e-mail.',
    call: { text: 'O seu código[ {brand}] é: {code}. Repetindo: {code}.', language: 'pt-BR' },
  },
  it: {
    code: '{code} è il tuo codice di verifica[ {brand}].',
    valid: 'Valido per {minutes}.',
    secret: 'Non condividerlo.',
    ignore: 'Se non hai richiesto questo codice, ignora questa e-mail.',
    call: { text: 'Il tuo codice[ {brand}] è: {code}. Ripeto: {code}.', language: 'it-IT' },
  },
  nl: {
    code: '{code} is uw verificatiecode[ voor {brand}].',
    valid: '{minutes} geldig.',
    secret: 'Deel deze code niet.',
    ignore: 'Als u deze code niet hebt aangevraagd, negeer dan deze e-mail.',
    call: { text: 'Uw code[ voor {brand}] is: {code}. Ik herhaal: {code}.', language: 'nl-NL' },
  },
  da: {
    code: '{code} er din bekræftelseskode[ til {brand}].',
    valid: 'Gælder i {minutes}.',
    secret: 'Del den ikke med andre.',
    ignore: 'Hvis du ikke har bedt om denne kode, kan du ignorere denne e-mail.',
    call: { text: 'Din kode[ til {brand}] er: {code}. Jeg gentager: {code}.', language: 'da-DK' },
  },
  sv: {
    code: '{code} är din verifieringskod[ för {brand}].',
    valid: 'Giltig i {minutes}.',
    secret: 'Dela den inte med någon.',
    ignore: 'Om du inte har begärt den här koden kan du bortse från det här mejlet.',
    call: { text: 'Din kod[ för {brand}] är: {code}. Jag upprepar: {code}.', language: 'sv-SE' },
  },
  nb: {
    code: '{code} er din bekreftelseskode[ for {brand}].',
    valid: 'Gyldig i {minutes}.',
    secret: 'Ikke del den med noen.',
    ignore: 'Hvis du ikke har bedt om denne koden, kan du se bort fra denne e-posten.',
    call: { text: 'Koden din[ for {brand}] er: {code}. Jeg gjentar: {code}.', language: 'nb-NO' },
  },
  fi: {
    code: '{code} on vahvistuskoodisi[ palveluun {brand}].',
    valid: 'Voimassaoloaika: {minutes}.',
    secret: 'Älä jaa sitä kenellekään.',
    ignore: 'Jos et pyytänyt tätä koodia, jätä tämä viesti huomiotta.',
    call: { text: 'Koodisi[ palveluun {brand}] on: {code}. Toistan: {code}.', language: 'fi-FI' },
  },
  pl: {
    code: '{code} to kod weryfikacyjny[ {brand}].',
    valid: 'Wygasa za {number} min.',
    secret: 'Nikomu go nie podawaj.',
    ignore: 'Jeśli to nie Ty prosisz o ten kod, zignoruj tę wiadomość.',
    call: { text: 'Twój kod[ {brand}] to: {code}. Powtarzam: {code}.', language: 'pl-PL' },
  },
  cs: {
    code: '{code} je váš ověřovací kód[ {brand}].',
    valid: 'Platnost: {minutes}.',
    secret: 'Nikomu ho nesdělujte.',
    sms: {
      code: '{code} je vas overovaci kod[ {brand}].',
      valid: 'Platnost: {minutes}.',
      secret: 'Nikomu ho nesdelujte.',
    },
    ignore: 'Pokud jste o tento kód nežádali, tuto zprávu ignorujte.',
    call: { text: 'Váš kód[ {brand}] je: {code}. Opakuji: {code}.', language: 'cs-CZ' },
  },
  sk: {
    code: '{code} je váš overovací kód[ {brand}].',
    valid: 'Platnosť: {minutes}.',
    secret: 'Nikomu ho neprezrádzajte.',
    sms: {
      code: '{code} je vas overovaci kod[ {brand}].',
      valid: 'Platnost: {number} min.',
      secret: 'Nikomu ho neprezradzajte.',
    },
    ignore: 'Ak ste o tento kód nežiadali, túto správu ignorujte.',
    call: { text: 'Váš kód[ {brand}] je: {code}. Opakujem: {code}.', language: 'sk-SK' },
  },
  hu: {
    code: '{code} az Ön[ {brand}] kódja.',
    valid: '{number} percig érvényes.',
    secret: 'Ne adja ki másnak.',
    ignore: 'Ha nem Ön kérte ezt a kódot, hagyja figyelmen kívül ezt az e-mailt.',
    call: { text: 'Az Ön[ {brand}] kódja: {code}. Ismétlem: {code}.', language: 'hu-HU' },
  },
  ro: {
    code: '{code} este codul de verificare[ {brand}].',
    valid: 'Valabil {minutes}.',
    secret: 'Nu divulga codul.',
    ignore: 'Dacă nu ai cerut acest cod, ignoră acest e-mail.',
    call: { text: 'Codul[ {brand}] este: {code}. Repet: {code}.', language: 'ro-RO' },
  },
  bg: {
    code: '{code} е вашият код[ за {brand}].',
    valid: 'Валиден {minutes}.',
    secret: 'Не го споделяйте.',
    ignore: 'Ако не сте поискали този код, пренебрегнете този имейл.',
    call: { text: 'Вашият код[ за {brand}] е: {code}. Повтарям: {code}.', language: 'bg-BG' },
  },
  el: {
    code: '{code} είναι ο κωδικός[ {brand}] σας.',
    valid: 'Ισχύει {minutes}.',
    secret: 'Μην τον μοιραστείτε.',
    ignore: 'Αν δεν ζητήσατε αυτόν τον κωδικό, αγνοήστε αυτό το email.',
    call: {
      text: 'Ο κωδικός[ {brand}] σας είναι: {code}. Επαναλαμβάνω: {code}.',
      language: 'el-GR',
    },
  },
  tr: {
    code: '{code}[ {brand}] onay kodunuzdur.',
    valid: 'Süre: {minutes}.',
    secret: 'Kimseye vermeyin.',
    ignore: 'Bu kodu siz istemediyseniz bu e-postayı dikkate almayın.',
    call: {
      text: '[{brand} onay|Onay] kodunuz: {code}. Tekrar ediyorum: {code}.',
      language: 'tr-TR',
    },
  },
  ru: {
    code: '{code} — ваш код[ {brand}].',
    valid: 'Действует {number} мин.',
    secret: 'Никому его не сообщайте.',
    ignore: 'Если вы не запрашивали этот код, проигнорируйте это письмо.',
    call: { text: 'Ваш код[ {brand}]: {code}. Повторяю: {code}.', language: 'ru-RU' },
  },
  uk: {
    code: '{code} — ваш код[ {brand}].',
    valid: 'Дійсний {number} хв.',
    secret: 'Нікому його не повідомляйте.',
    ignore: 'Якщо ви не запитували цей код, проігноруйте цей лист.',
    call: { text: 'Ваш код[ {brand}]: {code}. Повторюю: {code}.', language: 'uk-UA' },
  },
  ar: {
    code: '{code} هو [رمز {brand}|الرمز] الخاص بك.',
    valid: 'الصلاحية: {minutes}.',
    secret: 'لا تشاركه مع أحد.',
    ignore: 'إذا لم تطلب هذا الرمز، فتجاهل هذه الرسالة.',
    call: {
      text: '[رمز {brand}|الرمز] الخاص بك هو: {code}. أكرر: {code}.',
      language: 'ar-AE',
    },
    rtl: true,
  },
  he: {
    code: '{code} הוא הקוד שלך[ ב-{brand}].',
    valid: 'תוקף: {minutes}.',
    secret: 'אין לשתף אותו.',
    ignore: 'אם לא ביקשת קוד זה, אפשר להתעלם מהודעה זו.',
    call: { text: 'הקוד שלך[ ב-{brand}] הוא: {code}. שוב: {code}.', language: 'he-IL' },
    rtl: true,
  },
  fa: {
    code: '{code} کد تأیید[ {brand}] شماست.',
    valid: 'اعتبار: {minutes}.',
    secret: 'آن را به کسی ندهید.',
    ignore: 'اگر این کد را درخواست نکرده‌اید، این ایمیل را نادیده بگیرید.',
    call: null,
    rtl: true,
  },
  hi: {
    code: '{code} आपका[ {brand}] कोड है।',
    valid: '{number} मिनट तक मान्य।',
    secret: 'इसे किसी को न बताएं।',
    ignore: 'अगर आपने यह कोड नहीं मांगा है, तो इस ईमेल को अनदेखा करें।',
    call: { text: 'आपका[ {brand}] कोड है: {code}। फिर से: {code}।', language: 'hi-IN' },
  },
  id: {
    code: '{code} adalah kode verifikasi[ {brand}] Anda.',
    valid: 'Berlaku {minutes}.',
    secret: 'Jangan bagikan kepada siapa pun.',
    ignore: 'Jika Anda tidak meminta kode ini, abaikan email ini.',
    call: {
      text: 'Kode[ {brand}] Anda adalah: {code}. Saya ulangi: {code}.',
      language: 'id-ID',
    },
  },
  ms: {
    code: '{code} ialah kod pengesahan[ {brand}] anda.',
    valid: 'Sah selama {minutes}.',
    secret: 'Jangan kongsi dengan sesiapa.',
    ignore: 'Jika anda tidak meminta kod ini, abaikan e-mel ini.',
    call: { text: 'Kod[ {brand}] anda ialah: {code}. Saya ulang: {code}.', language: 'ms-MY' },
  },
  vi: {
    code: '{code} là mã xác thực[ {brand}] của bạn.',
    valid: 'Hiệu lực {minutes}.',
    secret: 'Không chia sẻ mã này với bất kỳ ai.',
    sms: {
      code: '{code} la ma xac thuc[ {brand}] cua ban.',
      valid: 'Hieu luc {number} phut.',
      secret: 'Khong chia se ma nay voi bat ky ai.',
    },
    ignore: 'Nếu bạn không yêu cầu mã này, hãy bỏ qua email này.',
    call: {
      text: 'Mã xác thực[ {brand}] của bạn là: {code}. Xin nhắc lại: {code}.',
      language: 'vi-VN',
    },
  },
  th: {
    code: '{code} คือรหัส[ {brand} ]ของคุณ',
    valid: 'ใช้ได้ภายใน {number} นาที',
    secret: 'ห้ามบอกผู้อื่น',
    ignore: 'หากคุณไม่ได้ขอรหัสนี้ โปรดเพิกเฉยต่ออีเมลนี้',
    call: {
      text: 'รหัส[ {brand} ]ของคุณคือ: {code}. ขอทวนอีกครั้ง: {code}.',
      language: 'th-TH',
    },
  },
  ja: {
    code: '{code}は[{brand}の]認証コードです。',
    valid: '{number}分間有効です。',
    secret: '他の人に教えないでください。',
    ignore: 'お心当たりがない場合は、このメールを無視してください。',
    call: {
      text: '[{brand}の]認証コードは、{code}、です。繰り返します。{code}、です。',
      language: 'ja-JP',
    },
  },
  ko: {
    code: '[{brand} ]인증번호는 {code}입니다.',
    valid: '{number}분간 유효합니다.',
    secret: '다른 사람에게 알려주지 마세요.',
    ignore: '본인이 요청하지 않았다면 이 이메일을 무시하세요.',
    call: {
      text: '[{brand} ]인증번호는, {code}, 입니다. 다시 말씀드립니다. {code}, 입니다.',
      language: 'ko-KR',
    },
  },
  'zh-CN': {
    code: '[【{brand}】]您的验证码是{code}。',
    valid: '{number}分钟内有效。',
    secret: '请勿告知他人。',
    ignore: '如非本人操作，请忽略此邮件。',
    call: { text: '您的[{brand}]验证码是：{code}。重复一遍：{code}。', language: 'zh-CN' },
  },
  'zh-TW': {
    code: '[【{brand}】]您的驗證碼是{code}。',
    valid: '{number}分鐘內有效。',
    secret: '請勿告知他人。',
    ignore: '如非本人操作，請忽略此郵件。',
    call: { text: '您的[{brand}]驗證碼是：{code}。重複一次：{code}。', language: 'zh-TW' },
  },
  sw: {
    code: '{code} ni nambari yako ya kuthibitisha[ ya {brand}].',
    valid: 'Inatumika kwa {minutes}.',
    secret: 'Usimwambie mtu yeyote.',
    ignore: 'Ikiwa hukuomba nambari hii, puuza barua pepe hii.',
    call: null,
  },
}
