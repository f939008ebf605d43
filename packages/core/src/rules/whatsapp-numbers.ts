/**
 * WhatsApp knows some people by another form of their number than the one that networks use: Mexico with a 1 after 52, Argentina
 * with a 9 after 54, and Brazil with or without the ninth digit of mobile numbers. Each entry: the form, with the digits that may
 * be missing as its second group, and these digits.
 */
const FORMS: readonly [RegExp, string][] = [
  [/^(\+52)(1?)(\d{10})$/, '1'],
  [/^(\+54)(9?)(\d{10})$/, '9'],
  [/^(\+55[1-9]{2})(9?)([6-9]\d{7})$/, '9'],
]

/** All forms under which WhatsApp may know the person with an address, the given form first. Sources: public reports on the wa_id of the Cloud API. */
export function whatsappForms(address: string): string[] {
  for (const [form, digits] of FORMS) {
    const [, country, , rest] = form.exec(address) ?? []
    if (rest === undefined) continue
    const forms = [`${country}${digits}${rest}`, `${country}${rest}`]
    return [address, ...forms.filter((one) => one !== address)]
  }
  return [address]
}
