import { Encrypter } from 'age-encryption'

// Makes backups with a passphrase 256 times cheaper. Otherwise each takes seconds of CPU time.
const { setPassphrase } = Encrypter.prototype
Encrypter.prototype.setPassphrase = function (phrase) {
  this.setScryptWorkFactor(10)
  setPassphrase.call(this, phrase)
}
