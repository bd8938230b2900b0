-- Who sells in three states and category 10, and what: an unbounded join.
-- data: main
-- compare: append
SELECT person.name, person.city, person.state, auction.id
FROM auction
JOIN person ON person.id = auction.seller
WHERE auction.category = 10 AND person.state IN ('OR', 'ID', 'CA')
