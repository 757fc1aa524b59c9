"""Portuguese filler prose, independent of any prompt, to lengthen answers."""

from typing import Final

PADDING: Final = (
    "Vale lembrar que a confiança se constrói aos poucos, com atenção em cada contato, respostas rápidas e clareza "
    "sobre o que foi combinado. Quem se sente ouvido costuma contar a outras pessoas como foi a experiência, e esse "
    "boca a boca pesa tanto quanto qualquer anúncio. Por isso, cada equipe precisa entender seu papel: uns cuidam de "
    "que nada se prometa em vão, outros de que a dúvida não vire queixa, e a gestão cuida para que ninguém trabalhe "
    "sozinho. Também é verdade que hábitos mudam devagar. Uma rotina simples, feita todos os dias, traz mais resultado "
    "do que um grande projeto que começa com festa e termina esquecido em alguma gaveta. Nada disso depende de "
    "ferramentas caras; depende de gente disposta a aprender com os erros, sem procurar culpados, e a celebrar as "
    "pequenas vitórias que aparecem pelo caminho. No fim, o que fica na memória é a sensação de ter sido bem tratado "
    "do começo ao fim, mesmo quando alguma coisa não saiu como se esperava."
)
TAIL: Final = (
    "Seu dia merece mais conforto, e a nossa equipe cuidou de tudo com muito carinho para você e para toda a sua "
    "família viver bons momentos, com a tranquilidade de quem confia em cada detalhe e sabe que pode contar com a "
    "gente sempre que quiser"
)
"""Continuation of a push."""
